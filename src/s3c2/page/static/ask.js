// Keys, answers without a new page, and news from the training. All works without this script, too.
"use strict";

const parts = ["said", "ask", "state"];
let busy = false;

function show(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const alarm = page.querySelector(".alarm");
  document.querySelectorAll(".alarm").forEach((old) => old.remove());
  if (alarm) document.getElementById("ask").before(document.importNode(alarm, true));
  for (const id of parts) {
    const from = page.getElementById(id), to = document.getElementById(id);
    if (from && to) to.replaceWith(document.importNode(from, true));
  }
  const names = page.querySelector("header nav");
  if (names) document.querySelector("header nav").replaceWith(document.importNode(names, true));
  recall();
  document.body.dataset.answers = String(Number(document.body.dataset.answers || 0) + 1);
}

async function send(form, button) {
  if (busy) return;
  busy = true;
  form.closest("#ask").setAttribute("aria-busy", "true");
  const body = new URLSearchParams(new FormData(form));
  if (button && button.name) body.append(button.name, button.value);
  const focused = button ? button.dataset.key : null;
  try {
    const answer = await fetch(form.action, { method: "POST", body });
    if (!answer.headers.get("content-type").startsWith("text/html")) {
      throw new Error(await answer.text());
    }
    show(await answer.text());
    const again = document.querySelector(`#ask [data-key="${focused}"]`);
    if (again && document.body.dataset.pointer !== "touch") again.focus({ preventScroll: true });
  } catch (error) {
    const told = document.createElement("p");
    told.className = "alarm";
    told.setAttribute("role", "alert");
    told.textContent = "The answer was not saved: " +
      (error instanceof TypeError ? "s3c2 ask cannot be reached. Is it still running?" : error.message);
    document.querySelectorAll(".alarm").forEach((old) => old.remove());
    document.getElementById("ask").before(told);
  } finally {
    busy = false;
    document.getElementById("ask").removeAttribute("aria-busy");
  }
}

function recall() {
  const box = document.getElementById("keys");
  if (!box) return;
  box.checked = localStorage.getItem("s3c2-keys") !== "off";
  document.body.classList.toggle("without-keys", !box.checked);
  box.addEventListener("change", () => {
    localStorage.setItem("s3c2-keys", box.checked ? "on" : "off");
    document.body.classList.toggle("without-keys", !box.checked);
  });
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.closest("#ask")) return;
  event.preventDefault();
  send(form, event.submitter);
});

document.addEventListener("pointerdown", (event) => {
  document.body.dataset.pointer = event.pointerType;
});

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  const box = document.getElementById("keys");
  if (!box || !box.checked) return;
  if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
  const named = `button[data-key="${CSS.escape(event.key.toLowerCase())}"]`;
  const button = document.querySelector(`#ask ${named}, .by-key ${named}`);
  if (!button) return;
  event.preventDefault();
  document.body.dataset.pointer = "keys";
  if (button.closest("#ask")) send(button.form, button);
  else button.click();
});

async function listen() {
  const state = document.getElementById("state");
  if (state && !document.hidden && !busy) {
    try {
      const news = await (await fetch("/state")).json();
      const told = document.getElementById("training");
      if (told && told.textContent !== news.training) told.textContent = news.training;
      if (!busy && news.version !== state.dataset.version) {
        const page = new DOMParser().parseFromString(await (await fetch("/")).text(), "text/html");
        const from = page.getElementById("state"), to = document.getElementById("state");
        if (!busy && from && to) to.replaceWith(document.importNode(from, true));
      }
    } catch { /* the next answer will tell */ }
  }
  setTimeout(listen, 3000);
}

recall();
setTimeout(listen, 3000);
