"""Every lab, in the order a reader who knows no allocator takes them."""

from . import arenas, backends, basics, giving_back, tcache

LABS = (
    *basics.LABS,
    *backends.LABS,
    *giving_back.LABS,
    *arenas.LABS,
    *tcache.LABS,
)
