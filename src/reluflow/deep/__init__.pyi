"""The names of this package; `lazy_loader` reads them from here, and so do type checkers."""

from .convolutional import ConvolutionalNetwork as ConvolutionalNetwork
from .convolutional import convolutional_network as convolutional_network
from .deep_neuron import DeepNeuron as DeepNeuron
from .descent import DeepDescent as DeepDescent
from .evaluation import features as features
from .evaluation import outputs as outputs
from .evaluation import parameter_norms as parameter_norms
from .evaluation import similarities as similarities
from .layers import FullyConnected as FullyConnected
from .layers import Residual as Residual
from .layers import gaussian_layers as gaussian_layers
from .layers import two_layer as two_layer
from .layers import uniform_layers as uniform_layers
from .train import train_deep as train_deep
from .trajectory import DeepOutcome as DeepOutcome
from .trajectory import DeepTrainingInterrupted as DeepTrainingInterrupted
from .trajectory import DeepTrajectory as DeepTrajectory
