#!/bin/sh
# Says what the Claude CLI says to one prompt, without thinking about it.
read -r asked
id=${asked#*\"request_id\": \"}
id=${id%%\"*}
printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{"hook_on_failure_supported":true}}}\n' "$id"
read -r prompt
cat <<'END'
{"type":"system","subtype":"init","session_id":"s","uuid":"u0","claude_code_version":"2.1.325","tools":[]}
{"type":"stream_event","uuid":"u1","session_id":"s","event":{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5","stop_reason":null,"usage":{"input_tokens":100,"output_tokens":1}}}}
{"type":"stream_event","uuid":"u6","session_id":"s","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}
{"type":"stream_event","uuid":"u2","session_id":"s","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello."}}}
{"type":"stream_event","uuid":"u7","session_id":"s","event":{"type":"content_block_stop","index":0}}
{"type":"assistant","uuid":"u3","session_id":"s","message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Hello."}],"usage":{"input_tokens":100,"output_tokens":1}}}
{"type":"stream_event","uuid":"u4","session_id":"s","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}}
{"type":"stream_event","uuid":"u8","session_id":"s","event":{"type":"message_stop"}}
{"type":"result","subtype":"success","duration_ms":1,"duration_api_ms":1,"is_error":false,"num_turns":1,"session_id":"s","uuid":"u5","result":"Hello.","total_cost_usd":0.0006,"usage":{"input_tokens":100,"output_tokens":20},"modelUsage":{}}
END
while read -r more; do :; done
