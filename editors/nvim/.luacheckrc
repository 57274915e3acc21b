std = 'luajit'
globals = { 'vim' }
max_line_length = false
-- What the tests call from another Neovim.
files['**/typing*.lua'] = { globals = { 'Children', 'Begin', 'Closed', 'Decided', 'Live', 'Open', 'State', 'Turned' } }
files['**/unseen*.lua'] = { globals = { 'Begin', 'Move', 'Draw', 'Pass', 'Live', 'Tick', 'Clock', 'Sent' } }
