import { alignment, bothMarkers, commonMarkers, ofSession, otherOf, pairsOf } from "../../../Sources/LockstepServe/Page/assets/pure/comparison.js";
import { equal, test } from "./harness.js";

const marker = (text, t) => ({ id: `${text}${t}`, t, text });
const session = (start, ...markers) => ({ start, devices: [], markers });

test("the second session is in the address as GROUP/ID", () => {
    const of = (text) => otherOf(new URLSearchParams(text));
    equal([of("with=lab/walk-4"), of(""), of("with=lab"), of("with=a/b/c")], [{ group: "lab", id: "walk-4" }, null, null, null]);
});

test("sessions are aligned at their starts, or at the first marker that both have", () => {
    const first = session(1000, marker("turn", 1500), marker("turn", 1900), marker("only here", 1700));
    const second = session(9000, marker("other", 9001), marker("turn", 9800));
    equal(alignment(first, second, ""), { shift: 8000, marker: "" });
    equal(alignment(first, second, "turn"), { shift: 8300, marker: "turn" });
    equal(alignment(second, first, "turn"), { shift: -8300, marker: "turn" });
    equal(alignment(first, second, "only here"), { shift: 8000, marker: "" }, "not in both");
    equal(commonMarkers(first, second), ["turn"]);
});

test("a device is compared with that of the same name, or with the next one that is left", () => {
    equal([...pairsOf(["left", "right"], ["right", "left"])], [["left", "left"], ["right", "right"]]);
    equal([...pairsOf(["left", "hip"], ["wrist", "left"])], [["left", "left"], ["hip", "wrist"]]);
    equal([...pairsOf(["left", "right"], ["hip"])], [["left", "hip"]]);
});

test("markers of the second session are moved with its samples, and named", () => {
    const all = bothMarkers([marker("turn", 1500), marker("end", 1900)], [marker("turn", 9600)], { id: "walk-4", shift: 8000 });
    equal(all.map(({ t, text }) => [t, text]), [[1500, "turn"], [1600, "turn (walk-4)"], [1900, "end"]]);
    equal([ofSession({ session: "walk-4" }), ofSession({})], [" of walk-4", ""]);
});
