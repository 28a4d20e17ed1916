"""Experiment: the one description of a run, in every form in which people write it.

Reading order:

- `settings`: how the text of one value is read and written;
- `documents`: TOML and JSON;
- `links`: the address of the laboratory;
- `fingerprint`: the name under which a result is kept;
- `field_types`: the type of every field, with its reader and its explanation;
- `building`: from the fields to the objects of a run;
- `experiment`: the frozen dataclass and its forms.
"""

from reluflow.experiment.experiment import Experiment

__all__ = ["Experiment"]
