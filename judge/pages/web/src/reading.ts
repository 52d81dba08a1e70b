import { startReading } from "./reading/app.tsx";

startReading();
