"""Feeds an integer .tflite file as a device would: rounds what goes in, and reads what comes out, by the scales in the file."""
from ai_edge_litert.interpreter import Interpreter


def check(call):
    model = Interpreter(model_content=b64(call["model"]))
    run = model.get_signature_runner("serving_default")
    ins, outs = run.get_input_details(), run.get_output_details()
    fed = {}
    for name, a in call["inputs"].items():
        scale, zero = ins[name]["quantization"]
        real = np.frombuffer(b64(a["data"]), a["type"]).reshape(a["shape"])
        fed[name] = np.clip(np.round(real / scale) + zero, -128, 127).astype(np.int8)
    answers = {}
    for name, v in run(**fed).items():
        scale, zero = outs[name]["quantization"]
        real = ((v.astype(np.float32) - zero) * scale).astype(np.float32)
        answers[name] = {"type": str(real.dtype), "shape": list(real.shape), "data": real.tobytes()}
    return {
        "Types": [np.dtype(d["dtype"]).name for d in list(ins.values()) + list(outs.values())],
        "Ops": [o["op_name"] for o in model._get_ops_details() if o["op_name"] != "DELEGATE"],
        "Outputs": answers,
    }
