// Optional: adds the theme button, search, sorting and the highlight of the current section.
(() => {
  const root = document.documentElement;
  const make = (tag, attributes, text) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text) made.textContent = text;
    return made;
  };

  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const toggle = make("button", { class: "button", type: "button" });
  const name = () => { toggle.textContent = isDark() ? "Light" : "Dark"; };
  toggle.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  system.addEventListener("change", name);
  name();
  document.querySelector(".top").append(toggle);

  const table = document.querySelector(".index table");
  const words = (topic) => [...topic.querySelectorAll(".words bdi, .about bdi")].map((e) => e.textContent).join(" ").toLowerCase();
  const rows = table ? [...table.tBodies[0].rows] : [];
  // Adds a search field above a list. fits(item, wanted) shows or hides an item and returns whether it matches.
  const finder = (list, items, label, fits, message) => {
    const input = make("input", { type: "search", placeholder: label, "aria-label": label });
    const output = make("output", { "aria-live": "polite" });
    const tools = make("div", { class: "tools" });
    tools.append(input, output);
    list.before(tools);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      const found = items.filter((item) => fits(item, wanted)).length;
      output.textContent = wanted ? message(found, input.value.trim()) : "";
    });
  };
  if (rows.length > 8) finder(table.closest(".index"), rows, "Find a topic by word or number", (row, wanted) => {
    const topic = document.getElementById("topic-" + row.dataset.topic);
    const fits = !wanted || row.dataset.topic === wanted || words(topic).includes(wanted);
    row.hidden = topic.hidden = !fits;
    return fits;
  }, (found, query) => found ? found + " of " + rows.length + " topics" : "No topic has “" + query + "” among its most probable words.");
  const changes = [...document.querySelectorAll(".change")];
  if (changes.length > 8) finder(document.querySelector(".changes"), changes, "Find a change by word or date", (change, wanted) => {
    change.hidden = !change.textContent.toLowerCase().includes(wanted);
    return !change.hidden;
  }, (found, query) => found ? found + " of " + changes.length + " changes" : "No change contains “" + query + "”.");

  for (const head of table ? table.tHead.querySelectorAll("[data-sort]") : []) {
    const button = make("button", { type: "button" }, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== (head.dataset.sort === "topic" ? "ascending" : "descending");
      const way = head.dataset.sort === "topic" ? (down ? 1 : -1) : (down ? -1 : 1);
      for (const other of table.tHead.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way < 0 ? "descending" : "ascending");
      rows.sort((a, b) => way * (a.dataset[head.dataset.sort] - b.dataset[head.dataset.sort]) || a.dataset.topic - b.dataset.topic);
      table.tBodies[0].append(...rows);
    });
  }

  const links = new Map([...document.querySelectorAll(".toc a")].map((a) => [a.hash.slice(1), a]));
  const watch = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const section of document.querySelectorAll("main > section[id]")) if (links.has(section.id)) watch.observe(section);
  const open = () => {
    const aim = document.getElementById(location.hash.slice(1));
    for (const folded of aim && aim.matches(".topic") ? aim.querySelectorAll("details") : []) folded.open = true;
    if (aim && aim.matches("details")) aim.open = !(aim.hidden = false);
  };
  addEventListener("hashchange", open);
  open();
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const d of folded) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of folded) d.open = false; });
})();
