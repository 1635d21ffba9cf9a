import { eventParameters, markOf, momentParameters, plotOf, plotsOf, plotsText, plotText, rangeOf, rangeParameters } from "../../../Sources/LockstepServe/Page/assets/pure/address.js";
import { liveView, recentView } from "../../../Sources/LockstepServe/Page/assets/pure/view.js";
import { addressOf, parseRoute } from "../../../Sources/LockstepServe/Page/assets/core/router.js";
import { equal, test } from "./harness.js";

const NOW = 1e15;

test("a plot in an address has its device, its stream, its columns and its axis", () => {
    for (const plot of [{ columns: null, axis: null }, { columns: ["co2", "t"], axis: null }, { columns: [], axis: null }, { columns: null, axis: { low: -2.5, high: 2 } }, { columns: ["x"], axis: { low: 0, high: 1e-7 } }, { session: "walk-4", columns: ["x"], axis: null }].map(({ session, ...change }) => ({ group: "lab", device: "left", ...(session ? { session } : {}), stream: "x/air", ...change }))) {
        equal(plotOf(plotText(plot)), plot);
    }
    equal([plotOf("none"), plotOf(""), plotOf("lab:steps"), plotOf("lab/left:")], [null, null, null, null]);
});

test("several streams share a plot in an address", () => {
    const plots = ["left", "right"].map((device) => ({ group: "lab", device, stream: "pressure", columns: null, axis: null }));
    equal(plotsText(plots), "lab/left:pressure lab/right:pressure");
    equal(plotsOf(plotsText(plots)), plots);
    equal([plotsOf("none"), plotsOf(addressOf("", [["plot", plotsText(plots)]]).split("=")[1].replace("+", " "))], [[], plots]);
});

test("a range in an address follows the time, or stands still", () => {
    const query = (view) => new URLSearchParams(rangeParameters(view));
    equal(rangeParameters(liveView(NOW)), {});
    equal(rangeOf(query(recentView(NOW, 300e6)), NOW + 60e6), recentView(NOW + 60e6, 300e6));
    const still = { live: false, from: NOW - 5e6, to: NOW };
    equal(rangeOf(query(still), NOW + 60e6), still);
    equal(["", "span=0", "span=x", "from=5&to=5", "from=-1&to=7", "to=9"].map((text) => rangeOf(new URLSearchParams(text), NOW)), [null, null, null, null, null, null]);
});

test("a link to a moment stands still and has a mark", () => {
    const query = new URLSearchParams(momentParameters(liveView(NOW), NOW - 1e6));
    equal([rangeOf(query, NOW + 1e9), markOf(query)], [{ live: false, from: NOW - 30e6, to: NOW }, NOW - 1e6]);
    equal(markOf(new URLSearchParams("at=now")), null);
    equal(markOf(new URLSearchParams(eventParameters(NOW))), NOW);
});

test("an address can be read, and is read back", () => {
    const address = addressOf("#/device/lab/left", [["span", "300"], ["search", ""], ["plot", "lab/left:motion/gyroscope:x,y"], ["plot", "a&b"]]);
    equal(address, "#/device/lab/left?span=300&plot=lab/left:motion/gyroscope:x,y&plot=a%26b");
    const route = parseRoute(address);
    equal([route.view, route.group, route.device, route.query.getAll("plot")], ["device", "lab", "left", ["lab/left:motion/gyroscope:x,y", "a&b"]]);
    equal([parseRoute("#/?sort=age").view, parseRoute("#/?sort=age").query.get("sort"), addressOf("#/", [])], ["fleet", "age", "#/"]);
});
