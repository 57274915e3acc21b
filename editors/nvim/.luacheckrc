std = 'luajit'
globals = { 'vim' }
max_line_length = 120
max_string_line_length = false
max_comment_line_length = false
