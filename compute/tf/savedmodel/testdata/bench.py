# Loads a model, then saves it as it is.

loaded = {}


def load(request):
    loaded[request["to"]] = tf.saved_model.load(request["model"])
    return len(loaded[request["to"]].variables)


def save(request):
    model = loaded.pop(request["to"])
    tf.saved_model.save(model, request["to"], signatures=dict(model.signatures))
    return len(model.variables)
