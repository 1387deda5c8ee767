"""What to do about an import that failed: which package has it, and where it is asked for."""
import os

# Packages whose name is not that of what is imported.
NAMES = {
    "sklearn": "scikit-learn", "cv2": "opencv-python-headless", "PIL": "pillow", "yaml": "pyyaml", "dateutil": "python-dateutil",
    "bs4": "beautifulsoup4", "skimage": "scikit-image", "attr": "attrs", "google.cloud.bigquery": "google-cloud-bigquery",
    "google.cloud.storage": "google-cloud-storage", "tensorflow_text": "tensorflow-text", "tensorflow_hub": "tensorflow-hub",
    "tensorflow_data_validation": "tensorflow-data-validation", "tensorflow_probability": "tensorflow-probability",
    "tensorflow_decision_forests": "tensorflow-decision-forests", "tensorflowjs": "tensorflowjs", "jwt": "pyjwt", "pkg_resources": "setuptools<81",
}

# What an environment made by Stoker has.
OURS = {"tensorflow", "tensorflow_transform", "tfx_bsl", "tensorflow_metadata", "keras", "keras_tuner", "tensorboard", "tf_keras"}


def hint(error, folders):
    """The next step after an ImportError; "" where its own words say it, or nothing is known."""
    name = error.name or ""
    top = name.partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or not top or "toker" in str(error):
        return ""
    if top in OURS:
        return f"this Python has no {NAMES.get(top, top.replace('_', '-'))}: `stoker python setup` makes one that has it, module.python names it"
    if top == "tfx":
        return "Stoker stands in for the parts of tfx that module files use, and not for this one: add tfx to module.requirements"
    if any(os.path.isdir(os.path.join(folder, top)) for folder in folders):
        return f"the module's folder {top} has no such file"
    return f"add the package to the pipeline: module.requirements: [{package(name)}]; or, if it is a file of yours, to the module's folder"


def package(name):
    """The package that has a Python module."""
    while name:
        if name in NAMES:
            return NAMES[name]
        name, _, last = name.rpartition(".")
    return last.replace("_", "-")
