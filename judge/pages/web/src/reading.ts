import "./old/main.js";
