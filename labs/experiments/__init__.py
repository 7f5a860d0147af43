"""Every lab, in the order a reader who knows no allocator takes them."""

from . import arenas, backends, basics, giving_back, tcache, toys

LABS = (
    toys.toys,
    *basics.LABS,
    *backends.LABS,
    *giving_back.LABS,
    *arenas.LABS,
    *tcache.LABS,
    toys.toys_compared,
)
