"""Runs Adam Warski's benchmark of SQS (2014).

Senders send batches of 1 to 10 messages of 100 bytes, and receivers receive 10 messages. A node in the article is a
machine that sends or receives. In this study, a node is a load process with the same number of sending and receiving
threads. A thread is a connection with one request in flight. The article's receivers prefetched and deleted in the
background. The study's receivers alternate between receiving and deleting.
"""

from functools import partial

from benchmarks.measure.outcome import Outcome, Plan
from benchmarks.report.rows import Row, figures_of, text
from benchmarks.report.runs import marks_of, penstock_valid
from benchmarks.scenarios import SCENARIOS
from benchmarks.system import System

from .study import Bench, Document, Findings, Study, facts_of

# Maps (nodes, threads in a node) to the messages that the article sent and received in a second, on SQS in eu-west with
# m3.large.
ARTICLE = {
    (1, 1): (429.33, 427.86),
    (1, 5): (2_036.76, 1_907.76),
    (1, 25): (8_853.75, 4_159.50),
    (1, 50): (14_493.83, 4_196.17),
    (1, 75): (14_528.25, 3_559.50),
    (2, 1): (740.71, 721.19),
    (4, 1): (1_401.19, 1_318.15),
    (8, 1): (2_702.75, 2_451.23),
    (2, 25): (16_925.83, 7_956.33),
    (4, 25): (30_503.33, 17_008.67),
    (8, 25): (63_466.00, 34_851.33),
}
THREADS = [(1, threads) for threads in (1, 5, 25, 50, 75)]
NODES = [(nodes, 1) for nodes in (1, 2, 4, 8)]
NODES_AND_THREADS = [(nodes, 25) for nodes in (1, 2, 4, 8)]
MESSAGES_PER_THREAD = 10_000  # The article used 10,000 to 50,000 messages.


def measure(shapes: list[tuple[int, int]], bench: Bench) -> Findings:
    """Measures the article's table for each system, and prints the article's figures beside the measured figures."""
    documents, valid = [], True
    able = bench.supporting(SCENARIOS["warski"])
    bench.measure_insert(bench.penstock)
    for system in able:
        runs = [(shape, run_of(system, shape, bench)) for shape in shapes]
        rows = [row_of(shape, run) for shape, run in runs]
        print(f"{system.name}\n{text(rows)}", flush=True)
        documents.append(document_of(system, rows, [run for _, run in runs]))
        valid = valid and penstock_valid(run for _, run in runs)
    bench.measure_insert(bench.penstock)
    return Findings(documents, valid)


def run_of(system: System, shape: tuple[int, int], bench: Bench) -> Outcome:
    nodes, threads = shape
    pairs = nodes * threads
    messages = bench.scaled(min(MESSAGES_PER_THREAD * pairs, bench.options.messages), 200)
    return system.run(SCENARIOS["warski"], Plan(2 * pairs, messages, 100, processes=nodes))


def row_of(shape: tuple[int, int], run: Outcome) -> Row:
    sent, received = ARTICLE[shape]
    return {
        "nodes": shape[0],
        "threads": shape[1],
        "article sent/s": sent,
        "article received/s": received,
        **figures_of(run),
    }


def document_of(system: System, rows: list[Row], runs: list[Outcome]) -> Document:
    return {"system": system.name, "facts": facts_of(system), "rows": rows, "marks": marks_of(runs)}


STUDIES = [
    Study("warski_threads", "Warski: 1 to 75 threads of one node", partial(measure, THREADS)),
    Study("warski_nodes", "Warski: 1 to 8 nodes with one thread", partial(measure, NODES)),
    Study("warski_nodes_threads", "Warski: 1 to 8 nodes with 25 threads", partial(measure, NODES_AND_THREADS)),
]
