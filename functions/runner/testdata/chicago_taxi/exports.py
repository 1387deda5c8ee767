"""Asks the serving model about two rides, and has the evaluation model judge rides with that answer as label."""

def check(folders):
    rides = [ride(b"Credit Card"), ride(b"Cash")]
    serving = tf.saved_model.load(folders["serving"]).signatures["predict"]
    chances = [float(p[0]) for p in serving(examples=tf.constant(rides))["logistic"]]
    tips = [10.0 if chance > 0.5 else 0.0 for chance in chances]
    accuracy, inputs = judged(folders["eval"], [ride(b"Credit Card", tips[0]), ride(b"Cash", tips[1])])
    return {"card": chances[0], "cash": chances[1], "accuracy": accuracy, "inputs": inputs}


def judged(folder, rides):
    """The accuracy that the evaluation model finds, by its own metrics, and the names of its signature's inputs."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        signature = tf.compat.v1.saved_model.load(session, ["eval"], folder).signature_def["eval"]
        feed = {signature.inputs["inputs/examples"].name: rides}
        session.run(tf.compat.v1.local_variables_initializer())
        session.run(signature.outputs["metrics/accuracy/update_op"].name, feed)
        refs, labels = session.run([signature.inputs["input_refs"].name, signature.inputs["labels"].name], feed)
        assert list(refs) == [0, 1] and len(labels) == 2, (refs, labels)
        return float(session.run(signature.outputs["metrics/accuracy/value"].name)), sorted(signature.inputs)
