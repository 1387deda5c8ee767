"""What the data of the penguins looks like: for the module of the Trainer, and for that of the Transform before it."""
FEATURES = ["culmen_length_mm", "culmen_depth_mm", "flipper_length_mm", "body_mass_g"]
LABEL = "species"
SPECIES = 3


def transformed(name):
    return name + "_xf"
