"""Estimators for scikit-learn's pipelines: a two-layer ReLU network trained by the exact gradient flow or by descent.

They need the extra `sklearn`. A `Pipeline([("scale", StandardScaler()), ("net", GradientFlowClassifier())])` works, and
so does a grid search over `scale`, the size of the initialisation.
"""

from reluflow.estimators.gradient_flow import GradientFlowClassifier, GradientFlowRegressor

__all__ = ["GradientFlowClassifier", "GradientFlowRegressor"]
