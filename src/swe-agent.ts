export { type SweAgentWire, sweAgent } from "./formats/files/swe-agent/swe-agent.ts";
