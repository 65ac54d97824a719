"""The names of OpenTelemetry's conventions for generative AI that are used here, and ours beside them.

They are in development, and the constants of the published package are marked as moved: so they stand here,
and only here.
"""

# Operations
INVOKE_AGENT = "invoke_agent"
INVOKE_WORKFLOW = "invoke_workflow"
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"

# Attributes
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
RESPONSE_ID = "gen_ai.response.id"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
TOKEN_TYPE = "gen_ai.token.type"
AGENT = "gen_ai.agent.name"
WORKFLOW = "gen_ai.workflow.name"
CONVERSATION = "gen_ai.conversation.id"
TOOL = "gen_ai.tool.name"
TOOL_CALL = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
ERROR_TYPE = "error.type"

# Content, only on request
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
ARGUMENTS = "gen_ai.tool.call.arguments"
RESULT = "gen_ai.tool.call.result"

# Metrics
OPERATION_DURATION = "gen_ai.client.operation.duration"
TIME_TO_FIRST_CHUNK = "gen_ai.client.operation.time_to_first_chunk"
TOKEN_USAGE = "gen_ai.client.token.usage"

# Ours
RUN = "adjourn.run.id"
EPOCH = "adjourn.epoch"
STATUS = "adjourn.status"
STEP = "adjourn.step.kind"
ATTEMPT = "adjourn.step.attempt"
KIND = "adjourn.interrupt.kind"
VERDICT = "adjourn.decision.verdict"
WAITED = "adjourn.waited_seconds"
DECIDED = "adjourn.decided"
WAITS = "adjourn.waits"
WORD = "adjourn.word"
RECORD = "adjourn.record"
COST = "adjourn.usage.cost"
PEOPLE_WAIT = "adjourn.interrupt.wait"
