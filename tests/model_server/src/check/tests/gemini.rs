//! Gemini generateContent.

use super::*;

#[test]
fn generate_content() {
    holds(
        r#"
        gemini/02 | remove /contents | `contents` is missing
        gemini/02 | set /model "gemini-4-argon" | `model` is no member here
        gemini/02 | set /contents/0/role "assistant" | /contents/0: `role` must be user or model
        gemini/02 | set /contents/0/parts [] | /contents/0: there are no parts
        gemini/02 | set /contents/0/parts/0 {} | /contents/0/parts/0: a part holds one thing, this one holds 0
        gemini/02 | set /contents/0/parts/0/text "" | /contents/0/parts/0: this text is empty
        gemini/02 | set /contents/0/parts/1/text "see" | /contents/0/parts/1: a part holds one thing, this one holds 2
        gemini/02 | set /generationConfig/temperature 0.1 | /generationConfig: gemini-4-argon does not take `temperature`
        gemini/02 | set /generationConfig/thinkingConfig/thinkingBudget 0 | /generationConfig/thinkingConfig: gemini-4-argon does not take `thinkingBudget`
        gemini/02 | model gemini-2.5-pro | /generationConfig/thinkingConfig: gemini-2.5-pro does not take `thinkingLevel`
        gemini/02 | set /tools/0/functionDeclarations/0/name "9grep" | /tools/0/functionDeclarations/0: the name of a function starts with a letter or an underscore
        gemini/02 | set /tools/0/functionDeclarations/0/parameters {} | /tools/0/functionDeclarations/0: `parameters` and `parametersJsonSchema` exclude each other
        gemini/02 | set /tools/0/functionDeclarations/0/parametersJsonSchema/properties/path {"const":"a"} | /tools/0/functionDeclarations/0/parametersJsonSchema/properties/path: `const` is not honoured: use an `enum` of one value
        gemini/02 | set /cachedContent "cachedContents/1" | `systemInstruction` does not go with `cachedContent`; `tools` does not go with `cachedContent`; `toolConfig` does not go with `cachedContent`
        gemini/04 | remove /contents/2/parts/1 | /contents/2: the call fc-2 has no response
        gemini/04 | remove /contents/2 | /contents/1: the call fc-1 has no response; /contents/1: the call fc-2 has no response
        gemini/04 | swap /contents/2/parts/0 /contents/2/parts/1 | /contents/2/parts/0: the response to fc-1 should stand here; /contents/2/parts/1: the response to fc-2 should stand here
        gemini/04 | insert /contents/2 {"role":"user","parts":[{"text":"Wait."}]} | /contents/2: the call fc-1 has no response; /contents/2: the call fc-2 has no response; /contents/3/parts/0: the content before has no call for this response; /contents/3/parts/1: the content before has no call for this response
        gemini/04 | set /contents/2/parts/0/functionResponse/response "error.rs:606" | /contents/2/parts/0/functionResponse: `response` must be object
        gemini/04 | set /contents/2/parts/0/functionResponse/response {"result":"error.rs:606"} | /contents/2/parts/0/functionResponse: `response` must hold `output` or `error`
        gemini/04 | set /contents/1/parts/0/functionCall/args "{}" | /contents/1/parts/0/functionCall: `args` must be object
        gemini/04 | set /contents/0/parts/- {"functionResponse":{"name":"fs_grep","response":{"output":""}}} ; set /contents/0/role "model" | /contents/0/parts/2: this part may not stand in a content of role model; /contents/0/parts/2: the content before has no call for this response
        gemini/04 | remove /contents/1/parts/0/thoughtSignature | /contents/1/parts/0: the first call of a step needs its `thoughtSignature`, or skip_thought_signature_validator
        gemini/04 | remove /contents/1/parts/0/thoughtSignature ; set /contents/- {"role":"user","parts":[{"text":"Next."}]} |
        gemini/04 | remove /contents/1/parts/0/thoughtSignature ; model gemini-2.5-pro ; remove /generationConfig |
        gemini/09 | remove /generationConfig/responseMimeType | /generationConfig: a schema needs the `responseMimeType` application/json
        gemini/09 | set /generationConfig/responseSchema {} | /generationConfig: `responseSchema` and `responseJsonSchema` exclude each other
        gemini/09 | set /generationConfig/responseJsonSchema/properties/inquiry_id {"type":"string","const":"inq_7"} | /generationConfig/responseJsonSchema/properties/inquiry_id: `const` is not allowed in a strict schema
        gemini/09 | set /generationConfig/responseJsonSchema/properties/inquiry_id/enum [""] | /generationConfig/responseJsonSchema/properties/inquiry_id: an enum must not hold empty text
        gemini/09 | model gemini-2.5-pro | /generationConfig: gemini-2.5-pro does not take tools beside a schema
        gemini/10 | set /toolConfig/functionCallingConfig/mode "AUTO" | /toolConfig/functionCallingConfig: `allowedFunctionNames` does not go with the mode AUTO
        gemini/10 | set /toolConfig/functionCallingConfig/mode "VALIDATED" |
        gemini/10 | set /toolConfig/functionCallingConfig/allowedFunctionNames ["ask"] | /toolConfig/functionCallingConfig: there is no tool ask
    "#,
    );
}
