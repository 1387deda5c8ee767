"""What tuner_fn returns."""
import typing

import stoker_lacking


class TunerFnResult(typing.NamedTuple):
    """A tuner of KerasTuner, and what its search is called with: tuner.search(**fit_kwargs)."""

    tuner: typing.Any
    fit_kwargs: typing.Dict[str, typing.Any]


__path__, __getattr__ = stoker_lacking.of(__name__)
