#!/usr/bin/env python3
"""How cost grows: `curves.py HARNESS TABLE` measures, and writes `curve,contender,x,y` lines.

Instructions are counted by callgrind. Times are processor time, the least of several rounds in which the contenders
take turns, since a busy machine only ever adds to it.
"""
import json
import os
import subprocess
import sys

harness, table = sys.argv[1:3]
BIN = os.path.join(harness, "target/release")
PEERS = {"official": "peer-official", "floor-serde": "peer-floor", "floor-scan": "peer-floor-scan", "ours": "peer-ours"}
ROUNDS = 5
rows = []


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


def bench(peer, **options):
    out = run(os.path.join(BIN, PEERS[peer]), "bench", *[f"{key}={value}" for key, value in options.items()]).stdout
    return json.loads(out.splitlines()[-1])


def instructions(peer, **options):
    command = [os.path.join(BIN, PEERS[peer]), "bench", "sc=count", *[f"{k}={v}" for k, v in options.items()]]
    out = run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command).stderr
    return next(int(line.split(":")[1]) for line in out.splitlines() if "Collected" in line)


def least(curve, xs, measure):
    """`measure(peer, x)` gives a value for each curve in `curve`."""
    for x in xs:
        best = {}
        for _ in range(ROUNDS):
            for peer in PEERS:
                for name, value in zip(curve, measure(peer, x)):
                    if value is not None:
                        best[name, peer] = min(value, best.get((name, peer), value))
        for (name, peer), value in best.items():
            rows.append((name, peer, x, f"{value:.4g}"))
            print(*rows[-1], flush=True)


for size in (64, 256, 1024, 4096, 16384, 65536):
    low, high = (400, 1200) if size < 4096 else (40, 120)
    for peer in PEERS:
        count = [instructions(peer, mode="recv", size=size, msgs=msgs) for msgs in (low, high)]
        rows.append(("size", peer, size, (count[1] - count[0]) // (high - low)))
        print(*rows[-1], flush=True)

least(["inflight"], (1, 4, 16, 64, 256, 1024),
      lambda peer, x: [bench(peer, sc="rt", mode="pair", inflight=x, min=0.05).get("cpu_us_per_trip")])
least(["sessions"], (1, 10, 100, 1000, 10000),
      lambda peer, x: [bench(peer, sc="sessions", mode="recv", sessions=x, msgs=max(20000, 10 * x)).get("cpu_ns_per_msg")])


def connections(peer, x):
    out = run(os.path.join(BIN, "peer-connections"), peer, str(x)).stdout.split()
    return [int(out[0]), int(out[1]) / 1000]


least(["heap", "connections"], (1, 10, 100, 1000), connections)

with open(table, "w") as out:
    out.write("curve,contender,x,y\n")
    for row in sorted(rows, key=lambda row: (row[0], row[1], int(row[2]))):
        out.write(",".join(map(str, row)) + "\n")
