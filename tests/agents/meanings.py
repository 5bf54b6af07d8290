"""What a failed launch means, by the types and the words in which it is said.

Written by hand, from what the vendors' pages, the CLIs' own texts and their users' reports show, and never from the
tables of the classifier: these say what its rows must come to. A sentence stands here for each way of saying something,
so short that nothing else in it tells.
"""

from __future__ import annotations

from contracts.reply import ReplyClass

R = ReplyClass

# Types that settle it by themselves, whatever is said beside them.
TYPES: dict[ReplyClass, str] = {
    R.REFUSAL: "refusal content_filter content_policy_violation",
    R.INVALID: """structured_output_retry_exhausted error_max_structured_output_retries malformed_tool_use_exhausted
        max_tokens max_output_tokens""",
    R.MISSING: "max_turns error_max_turns empty_completion",
    R.BUDGET: "budget_exhausted error_max_budget_usd",
    R.SCHEMA_REFUSED: "invalid_json_schema",
    R.CONTEXT_TOO_LONG: """prompt_too_long blocking_limit model_context_window_exceeded message_over_context_limit
        request_too_large context_length_exceeded exceed_context_size_error""",
    R.AUTH: """authentication_error invalid_api_key account_deactivated api_key_auth_disabled org_disabled_credential
        invalid_credential_header stored_login_refused provider_credentials gateway_signin_required
        gateway_session_expired""",
    R.LIMIT_PERMANENT: """billing_error insufficient_quota billing_hard_limit_reached model_requires_usage_credits
        long_context_credits_required usage_not_included""",
    R.TRANSIENT: "overloaded_error timeout_error server_is_overloaded server_error slow_down computer_slept",
    R.UNAVAILABLE: "connection_failed network_edge_blocked",
    R.HANG: "no_response stream_idle_timeout",
    R.KILLED: "aborted_streaming aborted_tools",
    R.MISCONFIGURED: """hook_stopped tls_untrusted_ca tls_cert_signature_failure gateway_content_type
        claude_code_version_too_old not_found_error model_not_found""",
}
# HTTP statuses that say enough for words not to count.
STATUSES: dict[int, ReplyClass] = {
    401: R.AUTH,
    404: R.MISCONFIGURED,
    408: R.TRANSIENT,  # the vendor waited too long for the request
    409: R.TRANSIENT,  # a conflict at the vendor
    413: R.CONTEXT_TOO_LONG,
    500: R.TRANSIENT,
    502: R.TRANSIENT,
    503: R.TRANSIENT,
    529: R.TRANSIENT,
}
# What is meant where nothing more is said; any known words say more.
VAGUE_TYPES = {
    "permission_error": R.AUTH,
    "invalid_request_error": R.MISCONFIGURED,
    "api_error": R.TRANSIENT,
}
VAGUE_STATUSES = {
    400: R.MISCONFIGURED,
    402: R.LIMIT_PERMANENT,  # payment required
    403: R.AUTH,
    422: R.MISCONFIGURED,
    429: R.TRANSIENT,
}

# Sentences of a CLI's own error channel, one a line.
SENTENCES: dict[ReplyClass, str] = {
    R.REFUSAL: """
        The provider's safeguards flagged it
        It was flagged for possible misuse
        You have limited access to this content
        Incomplete response returned, reason: content_filter
        I can't help with this
        I can’t help with this.""",
    R.INVALID: """
        Incomplete response returned, reason: max_output_tokens
        It exceeded the 32000 output token maximum.""",
    R.SCHEMA_REFUSED: """
        Invalid schema for response_format 'codex_output_schema'
        JSON schema is invalid
        json_schema is not of a supported draft
        The json-schema is not one of draft 7
        The jsonschema is invalid
        tools.0.custom.input_schema: Extra inputs
        Output schema file /run/schema.json is not valid JSON: eof
        The compiled grammar is too large
        This grammar too complex
        The grammar of the reply is too complex
        failed to parse grammar
        Failed to compile grammar
        The schema is too large for this endpoint
        The schema is too complex for this endpoint""",
    R.CONTEXT_TOO_LONG: """
        Prompt is too long
        Codex ran out of room in the model's context window.
        This model's maximum context length is 8192 tokens
        Your input exceeds the maximum length of 1048576 characters.
        Your input exceeds the context of this model.
        input length and `max_tokens` exceed context limit: 198000 + 21333 > 200000
        The prompt exceeds the context limit
        The input token count exceeds the maximum number of tokens allowed (1048576).
        Error: piped stdin input exceeds 10 MB
        Too many total text bytes: 1 > 0
        Request too large (max 32MB).
        Request body too large""",
    R.AUTH: """
        Not logged in
        Please run /login
        Invalid API key · Fix external API key
        Incorrect API key provided: dummy.
        API key not valid. Please pass another one.
        The API key is not valid
        OAuth token expired
        OAuth token revoked
        OAuth access token expired
        OAuth token has expired
        OAuth token been revoked
        Authentication error
        Authentication failed
        OAuth authentication is currently not allowed for this organization.
        Failed to authenticate.
        Your access token could not be refreshed.
        Failed to refresh token: 400 Bad Request
        Missing environment variable: `MY_KEY`.
        Your login expired
        The login reached its time limit
        A login is required
        Log out and sign in again.
        It belongs to a disabled organization
        Your organization has disabled it
        This organization has been disabled.
        No auth credentials found
        No API key found for anthropic.""",
    R.MISCONFIGURED: """
        error: unknown option '--bare'
        error: unknown argument '--bare'
        unknown configuration field `x`
        Unknown model: x
        error: unexpected argument '--bare' found
        There's an issue with the selected model (x).
        The model `x` does not exist
        The 'x' model is not supported here
        Model not found: x
        These models are not supported
        Invalid model name
        Error loading config.toml: expected a value
        No prompt provided via stdin.
        Input must be provided either through stdin or as an argument
        failed to read the model instructions file
        Failed to load extension "/x.ts"
        skill-state: there is no schema
        Failed to read output schema file /x
        --dangerously-skip-permissions cannot be used with root/sudo privileges
        Not inside a trusted directory
        Node version 22.19 or newer is required
        Your version is older than the minimum version
        unable to verify the first certificate
        Country, region, or territory not supported
        You are in a restricted region""",
    R.CRASHED: """
        thread 'main' panicked at src/main.rs:1:1
        Segmentation fault (core dumped)
        FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory""",
    R.HANG: """
        idle timeout waiting for SSE
        Request timed out.
        fetch failed: UND_ERR_HEADERS_TIMEOUT
        fetch failed: UND_ERR_BODY_TIMEOUT
        No chunks received
        No response from API""",
    R.UNAVAILABLE: """
        Connection refused
        Connection failed
        Connection dropped
        The connection to the API was lost
        connect ECONNREFUSED 127.0.0.1:1
        read ECONNRESET
        getaddrinfo ENOTFOUND api.example
        getaddrinfo EAI_AGAIN api.example
        getaddrinfo EAI_FAIL api.example
        dial tcp: lookup api.example: no such host
        connect ETIMEDOUT
        connect EHOSTUNREACH
        connect ENETUNREACH
        Can't reach the API
        We can’t reach the API
        error sending request for url (http://127.0.0.1:1/v1/responses)
        terminated: UND_ERR_SOCKET
        other side closed""",
    R.TRANSIENT: """
        Overloaded
        Selected model is at capacity.
        Our capacity is unavailable
        We're currently experiencing high demand.
        We are under high load
        stream disconnected before completion
        The stream ended early
        This is a server-side issue, usually temporary
        Internal error
        Internal server error
        Service Unavailable
        502 Bad Gateway
        Gateway Timeout
        The API gave an empty or malformed response
        Error while reading the server response
        Server is temporarily limiting requests
        Failed to refresh token: 503
        The network policy is unavailable
        Slow down (not your usage limit)
        Rate limit reached
        rate-limit, again
        The ratelimit of your key
        Too Many Requests
        Request rejected (429)
        exceeded retry limit, last status: 429""",
    R.LIMIT_WITH_RESET: """
        You've hit your usage limit.
        The usage limits of your plan
        You've hit your limit
        You've hit your Opus limit
        You've hit your team's limit
        You've hit your team’s limit
        You’ve hit your 5-hour, Opus limit
        5-hour limit
        five-hour limit
        Your weekly limit
        Your daily limit
        Your session limit
        Claude AI limit reached|""",
    R.UNKNOWN: """
        the gremlins are back
        It costs 429 dollars, and the last status was 200
        The data center's cooling is the limit
        The prisoner escaped limitlessly
        The toucan't help with this
        I can't help with thistles
        This is how you do it: skill-state: well
        The supermodel was not found
        What was modelled was not found
        The model said a great deal, and then more, and yet more of it all, so much that the end was not found
        It fetched UND_ERR__TIMEOUT
        It panicked, and left
        Hispanicked at last
        The panicked attendants
        The usage limitations of a plan
        The 15-hour limit of a runner
        ballast status: 429
        The last status: 4290
        The overspend limit
        The spend captain
        The bimonthly limit
        A cyborg is out of usage""",
}
# Limits that a person must lift, by what is said of who can.
LIFTED: dict[str, str] = {
    "An owner of the workspace can lift it": """
        You hit your spend cap set by the owner of your workspace.
        You hit the spending cap set by the owner.
        Your workspace is out of credits.
        Limited: ask your workspace owner""",
    "An admin of the organization can lift it": """
        You've hit your spend limit
        A spending limit was reached
        This is over the spend cap
        The monthly usage limit
        The monthly spend limit
        Your monthly limit
        Your team's pooled group budget
        It was disabled by your admin
        The service is disabled for your org
        All usage is paused for your org
        Your limit is set to $0
        Your seat type doesn't include it
        Your seat type doesn’t include it
        Your org is out of usage
        Your organization is out of usage
        It has ended · contact your admin
        It has ended · ask your admin""",
    "Whoever pays for the account can lift it, by adding credit": """
        Credit balance too low
        Your credit balance is too low
        Quota exceeded.
        You exceeded your current quota
        This model requires usage credits
        Long contexts require usage credits
        Extra usage is required
        Extra usage are required
        Usage credits are required
        You're out of extra usage
        You're out of usage credits
        You're out of credits""",
    "You can lift it, by another plan": """
        To use Codex with your ChatGPT plan, upgrade to Plus""",
}
