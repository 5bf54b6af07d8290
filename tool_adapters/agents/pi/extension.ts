/**
 * What Pi is told to be: one request, one tool, and the call of that tool is the reply.
 *
 * The adapter reads the call from Pi's events as the model made it. Pi's own validation coerces values, so what it
 * hands to `execute` is not used. SKILL_STATE_SCHEMA names the file with the JSON Schema of the reply,
 * SKILL_STATE_SYSTEM the one with the system prompt. With SKILL_STATE_HANDS Pi has tools of its own, too, and asks until
 * it replies.
 */

import { readFileSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Transition } from "./transition.ts";

type Payload = { [key: string]: any };
const TOOL = "skill_state_transition";
const KEY = "SKILL_STATE_PI_KEY";
const TURNS = 200; // of one that edits by itself

export default function (pi: ExtensionAPI): void {
  const schema = JSON.parse(read("SKILL_STATE_SCHEMA"));
  let system = "";
  let requests = 0;
  let refused = false;

  pi.registerTool({
    name: TOOL,
    label: "Transition",
    description: "Your reply: the next transition.",
    parameters: schema,
    async execute(_id: string, said: Transition) {
      return { content: [{ type: "text", text: "taken" }], details: said, terminate: true };
    },
  });

  // Pi goes on with its own prompt, or with what it would have sent, when a handler throws: that must not be sent.
  pi.on("before_agent_start", () =>
    orExit(() => {
      system = read("SKILL_STATE_SYSTEM");
      return { systemPrompt: system };
    }),
  );

  // What the model runs gets Pi's whole environment; Pi itself needs the key again for its next request.
  const key = process.env[KEY];
  pi.on("tool_call", () => {
    delete process.env[KEY];
  });
  pi.on("context", () => {
    if (key !== undefined) process.env[KEY] = key;
  });

  // A refusal in a field of its own is left out of Pi's message.
  pi.on("provider_stream_event", ({ data }) => {
    if (!refused && declines(data as Payload)) {
      refused = true;
      pi.appendEntry("skill-state", { refused });
    }
  });

  pi.on("before_provider_request", ({ payload }, ctx) =>
    orExit(() => {
      requests += 1;
      const hands = process.env.SKILL_STATE_HANDS !== undefined;
      if (hands ? requests > TURNS || replied(payload as Payload) : requests > 1) {
        ctx.abort(); // a repair would be a request that nobody has allowed for
        return undefined;
      }
      if (!JSON.stringify(payload).includes(JSON.stringify(system))) throw new Error("Pi sends another system prompt");
      return hands ? { ...(payload as Payload), ...anything(ctx.model?.api) } : forced(payload as Payload, ctx.model?.api);
    }),
  );
}

/** The request with the call forced, and without what would keep its beginning out of the vendor's cache. */
function forced(payload: Payload, api: string | undefined): Payload {
  switch (api) {
    case "anthropic-messages": {
      const thinks = payload.thinking !== undefined && payload.thinking.type !== "disabled"; // refused with a forced call
      const { fallbacks: _others, ...rest } = payload; // another model would answer, and nobody would know
      const messages = payload.messages.map(uncached);
      const tools = payload.tools.filter((tool: Payload) => tool.name === TOOL);
      const tool_choice = { type: thinks ? "auto" : "any", disable_parallel_tool_use: true };
      return { ...rest, messages, tools, tool_choice };
    }
    case "openai-completions":
    case "openai-responses": {
      const { prompt_cache_key: _session, ...rest } = payload; // another one in every process
      return { ...rest, tool_choice: "required", parallel_tool_calls: false };
    }
    default:
      return payload;
  }
}

/** Whether an event of OpenAI's stream carries a refusal. */
function declines(event: Payload | undefined): boolean {
  return Boolean(event?.choices?.[0]?.delta?.refusal) || String(event?.type).startsWith("response.refusal.");
}

/** Whether the model has replied: Pi asks again where it takes that for invalid, and we judge it ourselves. */
function replied(payload: Payload): boolean {
  return JSON.stringify(payload.messages ?? payload.input ?? []).includes(`"name":"${TOOL}"`);
}

/** Any tool may be called, one at a time: the reply ends the run only where it stands alone. */
function anything(api: string | undefined): Payload {
  switch (api) {
    case "anthropic-messages":
      return { tool_choice: { type: "auto", disable_parallel_tool_use: true } };
    case "openai-completions":
    case "openai-responses":
      return { tool_choice: "auto", parallel_tool_calls: false };
    default:
      return {};
  }
}

/** A message without cache marks: what stands in it is new in every step, and writing to the cache costs. */
function uncached(message: Payload): Payload {
  if (!Array.isArray(message.content)) return message;
  return { ...message, content: message.content.map(({ cache_control: _mark, ...block }: Payload) => block) };
}

function read(variable: string): string {
  return readFileSync(process.env[variable] ?? "", "utf8");
}

function orExit<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    console.error(`skill-state: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(70);
  }
}
