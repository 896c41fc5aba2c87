"""The words of generated webs: topics, running text, vague anchors, names of hosts."""

from __future__ import annotations

from collections.abc import Mapping

TOPICS: Mapping[str, str] = {
    "pottery": "kiln glaze clay wheel stoneware porcelain firing slip raku earthenware potter "
    "bisque celadon throwing vessel ceramic",
    "astronomy": "telescope comet galaxy orbit nebula eclipse planet asteroid quasar meteor "
    "observatory aurora supernova lens parallax moon",
    "sailing": "mast rudder keel harbour regatta sail anchor tide buoy jib helm dinghy spinnaker "
    "mooring crew wind",
    "baking": "dough sourdough crust oven yeast flour proofing loaf rye starter crumb knead "
    "brioche levain batard pastry",
    "gardening": "compost seedling orchard pruning mulch perennial trellis greenhouse soil bulb "
    "hedge graft weeding tomato pollinator lawn",
    "chess": "bishop gambit endgame knight castling pawn opening rook checkmate tournament queen "
    "zugzwang fianchetto clock rating sacrifice",
    "geology": "basalt fault sediment magma quartz glacier erosion fossil stratum granite mineral "
    "volcano tectonic gneiss limestone moraine",
    "beekeeping": "hive queen nectar honey swarm apiary brood comb drone pollen smoker varroa "
    "worker forage wax colony",
    "weaving": "loom warp weft shuttle heddle twill tapestry yarn selvedge linen wool treadle "
    "spindle dye pattern cloth",
    "cycling": "derailleur saddle peloton sprocket chain gear handlebar wheelset brake climb "
    "sprint tyre cadence frame touring gravel",
    "cinema": "montage director reel projector screenplay lens scene actor festival editing noir "
    "documentary sequel studio matinee camera",
    "railways": "locomotive signal timetable junction platform gauge carriage sleeper freight "
    "tunnel steam viaduct conductor branch station siding",
}
"""Topic → its vocabulary; our own words."""

COMMON = (
    "people often say that this page has more about it than others and we keep some notes here for "
    "readers who want to know what comes next while many things remain open to everyone"
).split()
VAGUE = ("read more", "here", "this page", "details", "see also", "next", "more", "link")
TREES = (
    "alder ash aspen beech birch cedar cherry chestnut cypress elder elm fir hazel hemlock hickory "
    "holly juniper larch laurel lime maple oak olive pear pine plum poplar rowan spruce walnut "
    "willow yew"
).split()
