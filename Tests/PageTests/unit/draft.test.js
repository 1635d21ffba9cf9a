import { cornerOf, cornersOf, edgeOf, isArea, ruleText } from "../../../Sources/LockstepServe/Page/assets/pure/draft.js";
import { equal, test } from "./harness.js";

test("an area is written as a part of a file of rules", () => {
    equal(ruleText({ name: "home", corners: [[48.1, 11.5]], radius: 80, when: "leave" }), "places:\n  home:\n    center: [48.1, 11.5]\n    radius: 80\nrules:\n  home-leave:\n    when: {leave: home}\n");
    equal(ruleText({ name: "yard", corners: [[1, 1], [1, 2], [2, 2]], radius: null, when: "enter" }), "places:\n  yard:\n    polygon:\n      - [1, 1]\n      - [1, 2]\n      - [2, 2]\nrules:\n  yard-enter:\n    when: {enter: yard}\n");
});

test("corners are typed one a line", () => {
    equal(cornersOf("1, 2\n\n -3.5 4 \n5;6"), [[1, 2], [-3.5, 4], [5, 6]]);
    equal([cornersOf("1, 2, 3"), cornersOf("91, 0"), cornersOf("0, 181"), cornersOf("here"), cornersOf("1,")], [null, null, null, null, null]);
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
