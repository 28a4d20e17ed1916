"""The flow in the limit of vanishing scale: a process that waits at saddles and jumps between them.

`forecast` follows it; a `JumpProcess` is what it finds.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
