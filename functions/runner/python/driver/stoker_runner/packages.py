"""What to do about an import that failed: which package has it, and where it is asked for."""
import os

# Packages whose name is not that of what is imported, with its underscores made dashes.
NAMES = {
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "google.cloud.bigquery": "google-cloud-bigquery",
    "google.cloud.storage": "google-cloud-storage",
    "jwt": "pyjwt",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}

# What an environment made by Stoker has.
OURS = {
    "keras", "keras_tuner", "tensorboard", "tensorflow", "tensorflow_metadata", "tensorflow_transform", "tf_keras",
    "tfx_bsl",
}

SHIM = "is not among what Stoker replaces"  # words of the shim's, which says what to do itself


def hint(error, folders):
    """The next step after an ImportError; "" where its own words say it, or nothing is known."""
    name = error.name or ""
    top = name.partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or not top or SHIM in str(error):
        return ""
    if top in OURS:
        return f"this Python has no {package(top)}: `stoker python setup` makes one that has it, module.python names it"
    if top == "tfx":
        return "Stoker replaces what module files use of tfx, but not this: add tfx to module.requirements"
    if any(os.path.isdir(os.path.join(folder, top)) for folder in folders):
        return f"the module's folder {top} has no such file"
    asked = f"module.requirements: [{package(name)}], or --requirements {package(name)} of `stoker try`"
    return f"add the package to the pipeline: {asked}; or, if it is a file of yours, to the module's folder"


def package(name):
    """The package that has a Python module."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        found = NAMES.get(".".join(parts[:end]))
        if found:
            return found
    return parts[0].replace("_", "-")
