//! Images and documents in each API; those of Ollama are with the rest of its rules.

use super::*;

#[test]
fn blocks_have_a_source_that_is_what_it_says() {
    holds(
        r#"
        anthropic/02 | insert /messages/0/content/0 {"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lGODlh"}} |
        anthropic/02 | insert /messages/0/content/0 {"type":"image","source":{"type":"url","url":"https://example.com/a.png"}} |
        anthropic/02 | insert /messages/0/content/0 {"type":"image","source":{"type":"base64","media_type":"image/gif","data":""}} | /messages/0/content/0/source: the data is empty
        anthropic/02 | insert /messages/0/content/0 {"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lGOD"}} | /messages/0/content/0/source: the data is not valid base64
        anthropic/02 | insert /messages/0/content/0 {"type":"image","source":{"type":"base64","media_type":"image/gif","data":"data:image/gif;base64,R0lGODlh"}} | /messages/0/content/0/source: the data is not valid base64
        anthropic/02 | insert /messages/0/content/0 {"type":"image","source":{"type":"base64","media_type":"image/png","data":"R0lGODlh"}} | /messages/0/content/0/source: the data is no image/png
        anthropic/02 | insert /messages/0/content/0 {"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"Qk0="}} | /messages/0/content/0/source: the type `image/bmp` is not taken here
        anthropic/02 | insert /messages/0/content/0 {"type":"image","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}} | /messages/0/content/0/source: the type `application/pdf` is not taken here
        anthropic/02 | insert /messages/0/content/0 {"type":"image","source":{"type":"inline"}} | /messages/0/content/0/source: a source of type `inline` is not known
        anthropic/02 | insert /messages/0/content/0 {"type":"image","source":{"type":"base64","mime":"image/gif","media_type":"image/gif","data":"R0lGODlh"}} | /messages/0/content/0/source: `mime` is no member here
        anthropic/02 | insert /messages/0/content/0 {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},"title":"a"} |
        anthropic/02 | insert /messages/0/content/0 {"type":"document","source":{"type":"base64","media_type":"image/gif","data":"R0lGODlh"}} | /messages/0/content/0/source: the type `image/gif` is not taken here
    "#,
    );
}

#[test]
fn input_parts_have_data_and_a_name() {
    holds(
        r#"
        openai_responses/01 | insert /input/0/content/0 {"type":"input_image","detail":"auto","image_url":"data:image/gif;base64,R0lGODlh"} |
        openai_responses/01 | insert /input/0/content/0 {"type":"input_image","detail":"auto","image_url":"https://example.com/a.png"} |
        openai_responses/01 | insert /input/0/content/0 {"type":"input_image","image_url":"data:image/gif;base64,R0lGODlh"} | /input/0/content/0: `detail` is missing
        openai_responses/01 | insert /input/0/content/0 {"type":"input_image","detail":"auto"} | /input/0/content/0: one of `image_url`, `file_id` must be given
        openai_responses/01 | insert /input/0/content/0 {"type":"input_image","detail":"auto","image_url":"R0lGODlh"} | /input/0/content/0: this is no `data:` URL in base64
        openai_responses/01 | insert /input/0/content/0 {"type":"input_image","detail":"auto","image_url":"data:image/png;base64,R0lGODlh"} | /input/0/content/0: the data is no image/png
        openai_responses/01 | insert /input/0/content/0 {"type":"input_image","detail":"auto","image_url":{"url":"x"}} | /input/0/content/0: `image_url` must be string or null; /input/0/content/0: one of `image_url`, `file_id` must be given
        openai_responses/01 | insert /input/0/content/0 {"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="} |
        openai_responses/01 | insert /input/0/content/0 {"type":"input_file","file_data":"data:application/pdf;base64,JVBERi0="} | /input/0/content/0: `filename` must name a PDF
        openai_responses/01 | insert /input/0/content/0 {"type":"input_file","filename":"a.pdf","file_data":"JVBERi0="} | /input/0/content/0: this is no `data:` URL in base64
        openai_responses/01 | insert /input/0/content/0 {"type":"input_file","filename":"a.pdf"} | /input/0/content/0: one of `file_data`, `file_url`, `file_id` must be given
    "#,
    );
}

#[test]
fn parts_of_chat_have_data_and_a_name() {
    holds(
        r#"
        openai_chat/01 | set /messages/1/content [{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlh"}}] |
        openai_chat/01 | set /messages/1/content [{"type":"image_url","image_url":"data:image/gif;base64,R0lGODlh"}] | /messages/1/content/0: `image_url` must be object; /messages/1/content/0/image_url: this is not an object
        openai_chat/01 | set /messages/1/content [{"type":"image_url","image_url":{"url":"data:image/gif;base64,"}}] | /messages/1/content/0/image_url: the data is empty
        openai_chat/01 | set /messages/1/content [{"type":"image_url","image_url":{"url":"data:application/pdf;base64,JVBERi0="}}] | /messages/1/content/0/image_url: the type `application/pdf` is not taken here
        openai_chat/01 | set /messages/1/content [{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}] |
        openai_chat/01 | set /messages/1/content [{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0="}}] | /messages/1/content/0/file: `filename` must name a PDF
        openai_chat/01 | set /messages/1/content [{"type":"file","file":{"filename":"a.pdf"}}] | /messages/1/content/0/file: one of `file_data`, `file_id` must be given
        openai_chat/01 | set /messages/1/content [{"type":"file","filename":"a.pdf","file":{"file_id":"file_1"}}] | /messages/1/content/0: `filename` is no member here
    "#,
    );
}

#[test]
fn inline_data_is_of_its_type() {
    holds(
        r#"
        gemini/02 | set /contents/0/parts/- {"inlineData":{"mimeType":"application/pdf","data":"JVBERi0="}} |
        gemini/02 | set /contents/0/parts/1/inlineData {"mimeType":"image/gif","data":"JVBERi0="} | /contents/0/parts/1/inlineData: the data is no image/gif
        gemini/02 | set /contents/0/parts/1/inlineData {"mimeType":"text/plain","data":"JVBERi0="} | /contents/0/parts/1/inlineData: the type `text/plain` is not taken here
        gemini/02 | set /contents/0/parts/1/inlineData {"mimeType":"image/gif","data":"?"} | /contents/0/parts/1/inlineData: the data is not valid base64
        gemini/02 | set /contents/0/parts/1/inlineData {"mime_type":"image/gif","data":"R0lGODlh"} | /contents/0/parts/1/inlineData: `mimeType` is missing; /contents/0/parts/1/inlineData: `mime_type` is no member here; /contents/0/parts/1/inlineData: the type `` is not taken here
    "#,
    );
}
