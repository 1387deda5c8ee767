"""The release of TFX whose contract with module files is kept."""
__version__ = "1.21.0"
