export { type PiWire, pi } from "./formats/files/pi/pi.ts";
