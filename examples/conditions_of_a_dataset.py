"""Which assumption of which paper holds on a dataset, and by what margin."""

import reluflow
from reluflow import viz

diagnosis = reluflow.diagnose(reluflow.load("three-points"))
print(diagnosis)
viz.save_figure(viz.plot_conditions(diagnosis), "conditions_of_a_dataset.png")
