import { cornerOf, cornersNear, cornersOf, edgeOf, freeName, isArea, ruleText } from "../../../Sources/LockstepServe/Page/assets/pure/draft.js";
import { equal, test } from "./harness.js";

test("an area is written as a part of a file of rules", () => {
    equal(ruleText({ name: "home", corners: [[48.1, 11.5]], radius: 80, when: "leave" }), "places:\n  home:\n    center: [48.1, 11.5]\n    radius: 80\nrules:\n  home-leave:\n    when: {leave: home}\n    # to: [TARGET]\n");
    equal(ruleText({ name: "yard", corners: [[1, 1], [1, 2], [2, 2]], radius: null, when: "enter" }), "places:\n  yard:\n    polygon:\n      - [1, 1]\n      - [1, 2]\n      - [2, 2]\nrules:\n  yard-enter:\n    when: {enter: yard}\n    # to: [TARGET]\n");
});

test("corners are typed one a line", () => {
    equal(cornersOf("1, 2\n\n -3.5 4 \n5;6"), { corners: [[1, 2], [-3.5, 4], [5, 6]], problem: "" });
    equal(["1, 2, 3", "91, 0", "0, 181", "here", "1,", ""].map((text) => cornersOf(text).problem !== ""), [true, true, true, true, true, false]);
    equal(cornersOf("1, 2\n\n3, \n5, 6"), { corners: [[1, 2], [5, 6]], problem: "Line 3 is not LATITUDE, LONGITUDE" });
    equal([200, 201].map((count) => cornersOf("1, 2\n".repeat(count)).problem), ["", "More than 200 corners"]);
});

test("a circle needs a radius, a polygon three corners", () => {
    const is = (corners, radius = null) => isArea({ corners, radius });
    equal([is([[1, 1]], 5), is([[1, 1]], 0), is([[1, 1]], NaN), is([[NaN, 1]], 5), is([[1, 1], [1, 2]]), is([[1, 1], [1, 2], [2, 2]])], [true, false, false, false, false, true]);
});

test("a place of the map is a position on the earth", () => {
    equal(cornerOf({ lat: 48.12345678, lng: 371.5 }), [48.123457, 11.5]);
    equal(edgeOf([0, 10], 111195), [0, 11]);
    equal(Math.round(edgeOf([60, 10], 111195)[1] * 1e6) / 1e6, 12);
});

test("an area is drawn on the turn around the earth that is in view", () => {
    equal([cornersNear([[0, 179], [1, -179]], 170), cornersNear([[0, 179], [1, -179]], -170), cornersNear([[0, 10]], 371)], [[[0, 179], [1, 181]], [[0, -181], [1, -179]], [[0, 370]]]);
});

test("the proposed name is a new one", () => {
    equal([freeName([]), freeName(["area", "area-2"]), freeName(["home"])], ["area", "area-3", "area"]);
});
