import "./old/runs.js";
