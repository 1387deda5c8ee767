"""What every rewriter is: a name, and three phases that perform_rewrite calls in turn."""
import abc
import enum
import typing

import stoker_lacking


class ModelType(enum.Enum):
    ANY_MODEL = 1
    SAVED_MODEL = 2
    TFLITE_MODEL = 3
    TFJS_MODEL = 4


class ModelDescription(typing.NamedTuple):
    """A model on disk: what it is, and the folder it is in."""

    model_type: ModelType
    path: str


class RewriteError(ValueError):
    """A model could not be rewritten. TFX raises ValueError itself: what catches that catches this one too."""


class BaseRewriter(abc.ABC):
    """To be derived from; create_rewriter finds a derived class by its name. A phase refuses by a ValueError."""

    @property
    @abc.abstractmethod
    def name(self):
        """What messages call this rewriter."""

    @abc.abstractmethod
    def _pre_rewrite_validate(self, original_model):
        """Checks that the model is one that can be rewritten."""

    @abc.abstractmethod
    def _rewrite(self, original_model, rewritten_model):
        """Makes the rewritten model in the folder of its description."""

    @abc.abstractmethod
    def _post_rewrite_validate(self, rewritten_model):
        """Checks what was made."""

    def perform_rewrite(self, original_model, rewritten_model):
        """Rewrites one description's model into the other's. RewriteError says which phase refused, and why."""
        try:
            self._pre_rewrite_validate(original_model)
        except ValueError as error:
            raise RewriteError(
                f"{self.name} failed to perform pre-rewrite validation. "
                f"Original model: {original_model}. Error: {error}"
            ) from error
        try:
            self._rewrite(original_model, rewritten_model)
        except ValueError as error:
            raise RewriteError(
                f"{self.name} failed to rewrite model. Original model: {original_model}. Error: {error}"
            ) from error
        try:
            self._post_rewrite_validate(rewritten_model)
        except ValueError as error:
            raise RewriteError(
                f"{self.name} failed to validate rewritten model. Rewritten model: {rewritten_model}. Error: {error}"
            ) from error


__path__, __getattr__ = stoker_lacking.of(__name__)
