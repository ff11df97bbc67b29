"""What wires need of pyroute2. Its package loads all of its protocols, which takes as long as a short measurement: here
only these modules of it are loaded."""

import importlib.util
import sys
import types

if "pyroute2" not in sys.modules and (_spec := importlib.util.find_spec("pyroute2")) is not None:
    _package = types.ModuleType("pyroute2")
    _package.__spec__, _package.__path__ = _spec, list(_spec.submodule_search_locations or ())
    sys.modules["pyroute2"] = _package

import pyroute2.config.log  # noqa: F401 - without it its warnings reach the terminal
from pyroute2.iproute.linux import IPRoute
from pyroute2.netlink import NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST
from pyroute2.netlink.rtnl import RTM_NEWTFILTER
from pyroute2.protocols import ETH_P_IP

__all__ = ["ETH_P_IP", "NLM_F_ACK", "NLM_F_CREATE", "NLM_F_EXCL", "NLM_F_REQUEST", "RTM_NEWTFILTER", "IPRoute"]
