// Sets the colours before the first paint, because modules run after it.
(() => {
    let chosen = "system";
    try {
        chosen = JSON.parse(localStorage.getItem("lockstep.theme") ?? '"system"');
    } catch {
        // Without storage the system's setting applies.
    }
    const isDark = chosen === "dark" || (chosen === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
})();
