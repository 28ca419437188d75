export { type SweAgentWire, sweAgent } from "./formats/swe-agent/swe-agent.ts";
