#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""figures.py WORKSPACE: is every figure of every report a row of results.db?

Takes each report's text apart, compares every figure in it with the row that
it stands for, and complains about figures that it could not place. Then
computes the comparisons' values anew, from the samples. Prints what is wrong,
one line each; nothing when all is well.
"""
import math
import re
import sqlite3
import statistics
import sys

SHOWN = 0.2  # the part in a case's change from which the table names it
NUM = r"([-+]?\d+(?:\.\d+)?)"
bad = []


def same(where, text, value):
    """Is text how value is written, at the digits that text has?"""
    digits = len(text.partition(".")[2])
    if value is None or abs(float(text) - value) > 0.501 * 10 ** -digits:
        bad.append("%s: the text has %s, the row %s" % (where, text, value))


def percent(ratio):
    return 100 * (ratio - 1)


def take(text, pattern, where):
    """The groups of pattern in text, and the text without them."""
    m = re.search(pattern, text, re.M)
    if not m:
        bad.append("%s: nothing looks like /%s/" % (where, pattern))
        return None, text
    return m.groups(), text[:m.start()] + " " + text[m.end():]


def check_table(db, report, text):
    rows = {(r["case_name"], r["kpi_name"]): r for r in db.execute(
        "SELECT a.*, x.base_value, x.head_value, x.base_boots, x.head_boots, "
        "c.name AS case_name, q.name AS kpi_name FROM attribution a "
        "JOIN bisection b ON b.id = a.bisection_id "
        "JOIN comparison_result x ON x.comparison_id = b.comparison_id "
        "AND x.case_id = a.case_id AND x.kpi_id = a.kpi_id "
        "JOIN \"case\" c ON c.id = a.case_id JOIN kpi q ON q.id = a.kpi_id "
        "WHERE a.bisection_id = ? AND a.share >= ?",
        (report["bisection_id"], SHOWN))}
    line = re.compile(
        r"^  (\S+)\s+" + NUM + r"\s+" + NUM + r"\s+" + NUM + r"%\s+(?:" + NUM +
        r"\s+" + NUM + r"%|-)\s+(\d+)\+(\d+)\+(\d+)(  \(a\))?$")
    kpi, left = None, []
    for part in text.split("\n"):
        head = re.match(r"^(\w+) \[\w[^]]*\], (higher|lower) is better$", part)
        if head:
            kpi = head.group(1)
        m = line.match(part)
        if not m:
            left.append(part)
            continue
        row = rows.pop((m[1], kpi), None)
        if not row:
            bad.append("no row for '%s' of %s" % (part, kpi))
            continue
        where = "table, %s %s" % (m[1], kpi)
        same(where, m[2], row["base_value"])
        same(where, m[3], row["head_value"])
        same(where, m[4], percent(row["head_value"] / row["base_value"]))
        if (m[5] is None) != (row["on_base_value"] is None):
            bad.append(where + ": base with the commit on top")
        elif m[5]:
            same(where, m[5], row["on_base_value"])
            same(where, m[6],
                 percent(row["on_base_value"] / row["base_value"]))
        got = (int(m[7]), int(m[8]), int(m[9]), m[10] is None)
        if got != (row["base_boots"], row["head_boots"], row["boots"],
                   bool(row["explained"])):
            bad.append("%s: boots or mark: %s" % (where, part))
    for key in rows:
        bad.append("the table lacks %s %s" % key)
    return "\n".join(left)


def tested(db, bisection):
    """By commit, in the order of the first test: sha, outcome, values."""
    found = {}
    for s in db.execute(
            "SELECT s.*, g.sha FROM bisection_step s JOIN bisection_commit g "
            "ON g.bisection_id = s.bisection_id AND g.idx = s.idx "
            "WHERE s.bisection_id = ? ORDER BY s.n", (bisection,)):
        commit = found.setdefault(s["idx"], (s["sha"], s["outcome"], []))
        if s["value"] is not None:
            commit[2].append(s["value"])
    return dict(enumerate(found.values(), 1))


def check_steps(db, report, text):
    commits = tested(db, report["bisection_id"])
    left = []
    for part in text.split("\n"):
        m = re.match(r"^  ([ \d]\d)\. ([0-9a-f]{12})  (\S+) +\S.*?"
                     r"(?: \((\d+) boots\))?$", part)
        if not m:
            left.append(part)
            continue
        sha, outcome, values = commits.pop(int(m[1]), ("", "", []))
        if not sha.startswith(m[2]):
            bad.append("no step is '%s'" % part)
        elif values:
            mean = math.exp(sum(map(math.log, values)) / len(values))
            same("step " + m[1], m[3], mean)
            if int(m[4] or 1) != len(values):
                bad.append("step %s: %s boots" % (m[1], m[4]))
        elif outcome != m[3]:
            bad.append("step %s: %s" % (m[1], m[3]))
    for n in commits:
        bad.append("step %d is not told" % n)
    return "\n".join(left)


def check_prose(db, report, text):
    """The sentences about the bisection's own case and KPI."""
    row = db.execute(
        "SELECT a.parent_value, a.culprit_value, a.boots, a.share, "
        "b.confidence, x.threshold, (SELECT max(max(coalesce(y.base_sd, 0), "
        "coalesce(y.head_sd, 0))) FROM attribution z JOIN comparison_result y "
        "ON y.comparison_id = b.comparison_id AND y.case_id = z.case_id "
        "AND y.kpi_id = z.kpi_id WHERE z.bisection_id = b.id "
        "AND z.share >= ?) AS sd, (SELECT count(*) FROM attribution o "
        "WHERE o.bisection_id = b.id AND o.share < ?) AS others, "
        "(SELECT count(*) - 1 FROM bisection_commit g "
        "WHERE g.bisection_id = b.id) AS commits "
        "FROM bisection b JOIN attribution a ON a.bisection_id = b.id "
        "AND a.case_id = b.case_id AND a.kpi_id = b.kpi_id "
        "JOIN comparison_result x ON x.comparison_id = b.comparison_id "
        "AND x.case_id = b.case_id AND x.kpi_id = b.kpi_id "
        "WHERE b.id = ?", (SHOWN, SHOWN, report["bisection_id"])).fetchone()
    # Of the end that has the commit, against the other; one direction only.
    effects = [percent(math.exp(e[0])) for e in db.execute(
        "SELECT iif(b.side = 'base', -x.effect, x.effect) FROM attribution a "
        "JOIN bisection b ON b.id = a.bisection_id JOIN comparison_result x "
        "ON x.comparison_id = b.comparison_id AND x.case_id = a.case_id "
        "AND x.kpi_id = a.kpi_id AND x.kpi_id = b.kpi_id "
        "JOIN comparison_result m ON m.comparison_id = b.comparison_id "
        "AND m.case_id = b.case_id AND m.kpi_id = b.kpi_id "
        "WHERE b.id = ? AND a.explained AND x.effect * m.effect > 0",
        (report["bisection_id"],))]
    text = re.sub(r"\s+", " ", text)
    got, text = take(text, r" (\d+) boots a side: .*? is " + NUM + r" on the "
                     r"commit's parent and " + NUM + r" on the commit \(" +
                     NUM + r"%\): (-?\d+) % of the change", "evidence")
    if got:
        same("evidence, boots", got[0], row["boots"])
        same("evidence, parent", got[1], row["parent_value"])
        same("evidence, culprit", got[2], row["culprit_value"])
        same("evidence, change", got[3],
             percent(row["culprit_value"] / row["parent_value"]))
        same("evidence, share", got[4], 100 * row["share"])
    for pattern, value in (
            (r"with a probability of " + NUM, row["confidence"]),
            (r"agree within " + NUM + " %", 100 * row["sd"]),
            (r"reported here is " + NUM + " %",
             percent(math.exp(row["threshold"]))),
            (r"bisection of the (\d+) commits", row["commits"]),
            (r"(\d+) further figures? moved", row["others"])):
        if value == 0 and not re.search(pattern, text):
            continue
        got, text = take(text, pattern, "prose")
        if got:
            same(pattern, got[0], value)
    # The opening: "rose by 50.0 %", or "fell by 1.0 % to 2.0 %".
    got, text = take(text, r"(?:rose|fell) by " + NUM + r" %(?: to " + NUM +
                     r" %)?", "opening")
    if got:
        sizes = [abs(e) for e in effects]
        same("opening", got[0], min(sizes) if got[1] else max(sizes))
        if got[1]:
            same("opening", got[1], max(sizes))
    return text


def check_report(db, report):
    text = check_table(db, report, report["body"])
    text = check_steps(db, report, text)
    text = check_prose(db, report, text)
    # Versions, hashes and parameters are no figures; decimals are.
    for m in re.finditer(r"(?<![\w.^-])[-+]?\d+\.\d+(?![\w.-])", text):
        bad.append("where does %s come from: %s" %
                   (m[0], text[max(0, m.start() - 40):m.end() + 20]))


def side_value(db, kernel, recipe, case, kpi):
    """The geometric mean of the boots' medians, as docs/STATISTICS.md says."""
    boots = {}
    for run, value in db.execute(
            "SELECT r.id, s.value FROM run r JOIN sample s ON s.run_id = r.id "
            "JOIN kernel k ON k.id = r.kernel_id, kernel me "
            "WHERE me.id = ? AND (k.id = me.id OR "
            "k.image_hash = me.image_hash) AND r.recipe_id = ? "
            "AND s.case_id = ? AND s.kpi_id = ?",
            (kernel, recipe, case, kpi)):
        boots.setdefault(run, []).append(value)
    logs = [math.log(statistics.median(v)) for v in boots.values()]
    return math.exp(statistics.fmean(logs)), len(logs)


def check_results(db):
    for x in db.execute(
            "SELECT x.*, m.base_kernel_id, m.head_kernel_id, m.recipe_id "
            "FROM comparison_result x JOIN comparison m "
            "ON m.id = x.comparison_id WHERE x.effect IS NOT NULL").fetchall():
        values = []
        for side in ("base", "head"):
            value, n = side_value(db, x[side + "_kernel_id"], x["recipe_id"],
                                  x["case_id"], x["kpi_id"])
            # Boots that came after the comparison are no part of it.
            if n == x[side + "_boots"]:
                values.append(value)
                if abs(value / x[side + "_value"] - 1) > 1e-12:
                    bad.append("case %d: %s is %r, from samples %r" % (
                        x["case_id"], side, x[side + "_value"], value))
        if len(values) == 2 and \
                abs(math.log(values[1] / values[0]) - x["effect"]) > 1e-12:
            bad.append("case %d: effect %r" % (x["case_id"], x["effect"]))


def main():
    db = sqlite3.connect("file:%s/results.db?mode=ro" % sys.argv[1], uri=True)
    db.row_factory = sqlite3.Row
    for report in db.execute("SELECT * FROM report").fetchall():
        before = len(bad)
        check_report(db, report)
        bad[before:] = ["report %d: %s" % (report["id"], b)
                        for b in bad[before:]]
    check_results(db)
    print("\n".join(bad), end="\n" if bad else "")


main()
