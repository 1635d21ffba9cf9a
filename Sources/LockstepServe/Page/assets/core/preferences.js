/** The choices of the person in the list "More" of the navigation. */

import { h, segmented } from "./dom.js";
import { onUnitsChange, setUnits, units } from "./units.js";
import { setTimeZone, timeZone } from "./zone.js";

/** @param {HTMLElement} list @param {() => void} onzone called when all times must be drawn again */
export function setUpPreferences(list, onzone) {
    const zone = segmented({ label: "Times", value: timeZone(), options: [{ value: "local", text: "Local", title: "The zone of this browser" }, { value: "utc", text: "UTC" }], onchange: (value) => {
        setTimeZone(value);
        onzone();
    } });
    const lengths = segmented({ label: "Units", value: units(), options: [{ value: "metric", text: "km", title: "Metric" }, { value: "imperial", text: "mi", title: "Imperial" }], onchange: setUnits });
    onUnitsChange(() => lengths.set(units()));
    const row = (text, control) => h("div", { class: "more-row" }, h("span", { "aria-hidden": "true" }, text), control.element);
    list.append(row("Times", zone), row("Units", lengths));
}
