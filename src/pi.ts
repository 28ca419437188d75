export { type PiWire, pi } from "./formats/pi/pi.ts";
