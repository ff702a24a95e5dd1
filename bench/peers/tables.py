"""What was measured, as Markdown tables that read well in a terminal, too."""

from statistics import median

ACTIONS = {2: 5, 22: 2, 54: 7, 117: 2, 389: 9}
STATISTICS = (min, median)


class Report:
    """Tables of times by (worker, kind, C), and of the products by (kind, C)."""

    def __init__(self, times, products):
        self.times, self.products = times, products

    def __str__(self):
        sections = [
            ("LU-Gauss, a training minibatch, ms (fastest / median)", self.comparison(["G"])),
            ("LU-SIVI, a training minibatch, ms (fastest / median)", self.comparison(["S", "N"])),
            ("LU-Gauss, a decision, µs (fastest / median)", self.comparison(["DG"])),
            ("LU-SIVI, a decision, µs (fastest / median)", self.comparison(["DS"])),
            ("The floor: what the products of a minibatch take alone, ms (fastest / median)", self.floors()),
            ("The products, GFLOP/s (fastest)", self.speeds()),
        ]
        return "\n\n".join(f"**{title}**\n\n{table}" for title, table in sections)

    def comparison(self, kinds):
        """Times of all workers, and how many times ours the peers take: each in its quickest way."""
        rows = [
            [label(name, kind), *(self.cell(lambda of, c: of(self.times[name, kind, c]), c, (name, kind, c)) for c in ACTIONS)]
            for name in ("locus", "PyTorch", "TensorFlow") for kind in kinds
        ]
        for title, peers in (("PyTorch", ["PyTorch"]), ("TensorFlow", ["TensorFlow"]),
                             ("faster peer", ["PyTorch", "TensorFlow"])):
            def ratio(of, c):
                peer = min(of(self.times[name, kind, c]) for name in peers for kind in kinds)
                return peer / of(self.times["locus", kinds[0], c])
            rows.append([f"{title} ÷ locus", *(self.cell(ratio, c) for c in ACTIONS)])
        return table(shape_heads(), rows)

    def floors(self):
        """A product counts with the time of the library that is fastest at it."""
        rows = []
        for kind, name in (("G", "LU-Gauss"), ("S", "LU-SIVI"), ("N", "LU-SIVI, noise in full")):
            def alone(of, c, ours_only=False):
                return sum(p["count"] * best(p, of, ours_only)[0] for p in self.products[kind, c]) / 1e3
            def speed(of, c):
                return sum(p["count"] * p["flops"] for p in self.products[kind, c]) / alone(of, c) / 1e6
            def share(of, c):
                return alone(of, c) / of(self.times["locus", kind, c])
            for title, value in ((f"{name}, floor", alone), ("GFLOP/s", speed),
                                 ("our products alone", lambda of, c: alone(of, c, ours_only=True)),
                                 ("**floor ÷ our time**", share)):
                rows.append([title, *(self.cell(value, c, ("locus", kind, c)) for c in ACTIONS)])
        return table(shape_heads(), rows)

    def speeds(self):
        """Every product once, with the speed of ours and of the fastest of the others."""
        rows = {}
        for products in self.products.values():
            for product in products:
                sizes = (product["pass"], product["in"], product["out"], product["columns"])
                (ours, _), (other, who) = best(product, min, True), best(product, min, False, but_ours=True)
                speed = [product["flops"] / time / 1e3 for time in (ours, other)]
                if sizes not in rows or speed[0] > rows[sizes][0]:
                    rows[sizes] = (*speed, who)
        order = ["forward", "to input", "to weights"]
        lines = [[*map(str, sizes), f"{ours:.0f}", f"{other:.0f} ({who})"]
                 for sizes, (ours, other, who) in sorted(rows.items(), key=lambda row: (order.index(row[0][0]), row[0]))]
        return table(["product", "in", "out", "columns", "locus", "fastest other"], lines)

    def cell(self, value, n_features, needs=None):
        """Two statistics; a dash where there is nothing to tell."""
        if needs is not None and needs not in self.times:
            return "–"
        return " / ".join(digits(value(of, n_features)) for of in STATISTICS)


def label(name, kind):
    further = {("locus", "N"): ", noise in full", ("PyTorch", "N"): ", x repeated", ("TensorFlow", "N"): ", x repeated"}
    return name + further.get((name, kind), "")


def best(product, of, ours_only=False, but_ours=False):
    """The least time, in µs, and whose it is."""
    libraries = [(of(times), name) for name, times in product["times"]
                 if not (ours_only and name != "locus") and not (but_ours and name == "locus")]
    return min(libraries)


def shape_heads():
    return ["", *(f"C {c}, A {a}" for c, a in ACTIONS.items())]


def digits(number):
    """Three that count."""
    return f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def table(heads, rows):
    widths = [max(len(line[column]) for line in (heads, *rows)) for column in range(len(heads))]
    cells = [[text.ljust(width) for text, width in zip(line, widths, strict=True)] for line in (heads, *rows)]
    head, *body = ("| " + " | ".join(line) + " |" for line in cells)
    return "\n".join([head, "|" + "|".join("-" * (width + 2) for width in widths) + "|", *body])
