// Export dialog: the API streams the file, the browser saves it.

import { toast } from "./messages.js";

function addressOf(form) {
  const asked = new URLSearchParams(new FormData(form));
  const columns = [...form.querySelectorAll("[data-column]:checked")].map((each) => each.value);
  asked.set("columns", columns.join(","));
  if (form.elements.format.selectedOptions[0].matches("[data-bom]")) asked.set("bom", "true");
  return `${form.getAttribute("action")}?${asked}`;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-export]")) return;
  event.preventDefault();
  if (!form.querySelector("[data-column]:checked")) {
    toast("Select at least one column.", { tone: "bad" });
    return;
  }
  const link = document.createElement("a");
  link.href = addressOf(form);
  link.download = "";
  link.click();
  form.closest("dialog").close();
  toast("Download started");
});
