/** How a device gets another name or group: both are settings of its agent, so the page has only the commands. */

import { h, setText } from "../core/dom.js";

/** @param {{group: string, device: string}} address */
export function askRename({ group, device }) {
    const name = (value) => h("input", { class: "field", required: true, maxLength: 64, pattern: "[A-Za-z0-9_.\\-]+", value, oninput: () => draw() });
    const [nextGroup, nextDevice] = [name(group), name(device)];
    const step = (text) => {
        const command = h("code", { class: "download-link", tabIndex: 0 });
        return { command, element: h("li", null, h("p", { class: "hint" }, text), command) };
    };
    const steps = [
        step("On the device, with its other options as before: stop the agent, and send what is left in its outbox. If an option names an outbox, keep it here."),
        step("Start it with the new name, or set it in its settings file. If an option or a setting names an outbox, choose another file there."),
        step("Where the collector runs: remove the old name from all lists, or press Forget this device here."),
    ];
    const dialog = h("dialog", { class: "download", "aria-labelledby": "rename-title", onclose: () => dialog.remove() }, h("h2", { id: "rename-title" }, `Rename or move ${group}/${device}`),
        h("p", { class: "muted" }, "The name and the group are settings of the agent, which only its machine can change. Samples keep the name under which they were collected: choose both devices to see all of them."),
        h("form", { onsubmit: (event) => event.preventDefault() }, h("label", null, "Group", nextGroup), h("label", null, "Name", nextDevice), h("ol", { class: "steps" }, ...steps.map(({ element }) => element)), h("button", { class: "button primary", type: "button", onclick: () => dialog.close() }, "Close")));

    function draw() {
        const isNew = dialog.querySelectorAll(":invalid").length === 0 && (nextGroup.value !== group || nextDevice.value !== device);
        const [to, id] = isNew ? [nextGroup.value, nextDevice.value] : ["GROUP", "NAME"];
        const texts = [`lockstep-agent --group ${group} --device ${device} --source none`, `lockstep-agent --group ${to} --device ${id} --source …`, `lockstep forget ${group}/${device}`];
        steps.forEach(({ command }, i) => setText(command, texts[i]));
    }

    draw();
    document.body.append(dialog);
    dialog.showModal();
}
