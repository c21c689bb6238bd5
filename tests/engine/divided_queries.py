# SPDX-License-Identifier: Apache-2.0
"""Query sets that threads divide: with one high level for all, or with one for each's groups."""

from __future__ import annotations

PAIRS = (
    "SELECT tb, srcIP, destIP, count(*) AS n, sum(len) AS b, first(len) AS f, last(len) AS l, "
    "avg(caplen) AS a FROM IPV4 GROUP BY time/2 AS tb, srcIP, destIP"
)
TEXTS = {
    "pairs": PAIRS,
    "all": "DEFINE { no_temporal_aggr true; } SELECT count(*) AS n, min(timestamp) AS t, "
    "last(packet_id) AS p FROM PKT",
    "set": "DEFINE { query_name a; } SELECT tb, srcIP, count(*) AS n FROM IP WHERE len > 90 "
    "GROUP BY time AS tb, srcIP HAVING count(*) > 1; DEFINE { query_name b; } SELECT tb, srcIP, "
    "max(len) AS m FROM IP WHERE protocol = 6 GROUP BY time AS tb, srcIP; DEFINE { query_name c; } "
    "SELECT tb, destPort, sum(len) AS s FROM TCP GROUP BY time/5 AS tb, destPort "
    "ORDER BY sum(len) DESC LIMIT 3",
}
TEXTS["parts"] = (
    "DEFINE { query_name a; } SELECT tb, srcIP, destIP, count(*) AS n FROM IP WHERE len > 90 "
    "GROUP BY time AS tb, srcIP, destIP HAVING count(*) > 1; DEFINE { query_name b; } "
    "SELECT sum(len) AS s, 0 - tb AS later, max(destPort) AS p, srcPort FROM TCP "
    "GROUP BY time/5 AS tb, srcPort; DEFINE { query_name c; } SELECT timestamp, len, count(*) AS n "
    "FROM PKT GROUP BY timestamp, len; DEFINE { query_name d; } SELECT b.later, b.s FROM b "
    "WHERE b.p > 80; DEFINE { query_name e; } SELECT window_end, protocol, "
    "count(*) AS n, avg(len) AS a FROM IPV4 [RANGE 6 s, SLIDE 2 s, WA time] GROUP BY protocol"
)
TEXTS["shared"] = ";".join(
    [
        f"DEFINE {{ query_name q{at}; }} SELECT tb, srcIP, {kept} FROM IPV4 WHERE len > {5 * at} "
        "GROUP BY time/2 AS tb, srcIP"
        for at, kept in enumerate(["count(*) AS n, sum(len) AS s", "sum(time) AS s"] * 5)
    ]
    + [
        "DEFINE { query_name more; } SELECT from_, max(len) AS m, tb FROM IPV4 WHERE len > 0 "
        "GROUP BY srcIP AS from_, time/2 AS tb HAVING max(len) > 60",
        "DEFINE { query_name regex; } SELECT tb, srcIP, count(*) AS n FROM IPV4 "
        "WHERE len > 40 AND ttl % 3 < 2 GROUP BY time/2 AS tb, srcIP",
    ]
)
TEXTS["cut"] = (
    "DEFINE { query_name a; } SELECT tb, srcIP, destIP, count(*) AS n, sum(len) AS b FROM IPV4 "
    "GROUP BY time AS tb, srcIP, destIP HAVING count(*) < 9; DEFINE { query_name b; } "
    "SELECT tb, srcIP, count(*) AS k, max(n) AS m FROM a GROUP BY tb/3 AS tb, srcIP; "
    "DEFINE { query_name c; } SELECT tb, len, count(*) AS n FROM PKT GROUP BY time/4 AS tb, len "
    "ORDER BY count(*) DESC LIMIT 2; DEFINE { query_name d; } SELECT tb, srcIP AS host, n FROM a "
    "WHERE b < 500; DEFINE { query_name e; } SELECT tb, destIP AS host, n FROM a WHERE b > 100; "
    "DEFINE { query_name f; } SELECT tb, host, count(*) AS k, sum(n) AS n FROM d UNION e "
    "GROUP BY tb/6 AS tb, host; DEFINE { query_name g; } SELECT tb, count(*) AS n FROM TCP "
    "GROUP BY time/2 AS tb; DEFINE { query_name h; } SELECT srcIP, count(*) AS n FROM UDP "
    "GROUP BY time AS tb, srcIP; DEFINE { query_name i; } SELECT window_end, protocol, "
    "count(*) AS n FROM IPV4 [RANGE 6 s, SLIDE 2 s, WA time] GROUP BY protocol "
    "ORDER BY count(*) DESC LIMIT 1; DEFINE { query_name j; } SELECT 0 - tb AS tb, max(k) AS k "
    "FROM b GROUP BY 0 - tb AS tb"
)
