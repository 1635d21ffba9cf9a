import { placesOf, unwrapped } from "../../../Sources/LockstepServe/Page/assets/pure/areas.js";
import { equal, test } from "./harness.js";

test("areas are those of all collectors, each once", () => {
    const home = { center: [48.1, 11.5], radius: 80 };
    const yard = { polygon: [[1, 1], [1, 2], [2, 2]] };
    const system = { collectors: [{ places: { yard, home } }, { places: { home } }, { places: { home: { ...home, radius: 90 } } }, {}] };
    equal(placesOf(system).map(({ name, radius }) => [name, radius]), [["home", 80], ["home", 90], ["yard", undefined]]);
    equal(placesOf(null), []);
});

test("an area across the date line takes the short way", () => {
    equal(unwrapped([[0, 179], [0, -179], [1, -179], [1, 179]]), [[0, 179], [0, 181], [1, 181], [1, 179]]);
    equal(unwrapped([[0, -179], [0, 179]]), [[0, -179], [0, -181]]);
});
