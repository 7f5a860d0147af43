-- A deterministic tour through what makes Lua allocate; prints one line a stage. Nothing may depend on the
-- order of pairs(): string hashes are seeded from addresses.
local state = 42
local function rnd(n)
  state = (state * 6364136223846793005 + 1442695040888963407)
  return (state >> 33) % n
end

local function checksum(text)
  local h = 5381
  for i = 1, #text, 7 do
    h = (h * 33 + text:byte(i)) & 0xffffffff
  end
  return h
end

-- Tables that grow and shrink, under both collectors.
for _, mode in ipairs { "incremental", "generational" } do
  collectgarbage(mode)
  local live = {}
  for step = 1, 700000 do
    local slot = rnd(5000) + 1
    live[slot] = { step, tostring(step), { slot, x = step } }
  end
  local parts = {}
  for slot = 1, 5000 do
    local one = live[slot]
    parts[slot] = one and (one[2] .. ":" .. one[3].x) or "-"
  end
  print("tables", mode, checksum(table.concat(parts, ",")))
end

-- Strings built piecewise and by replacement.
local pieces = {}
for i = 1, 100000 do
  pieces[#pieces + 1] = string.char(97 + rnd(26)):rep(rnd(9))
end
local text = table.concat(pieces, " ")
local count
text, count = text:gsub("(%w+) (%w+)", "%2-%1")
print("strings", #text, count, checksum(text))

-- One string that is copied as it grows.
local grown = ""
for i = 1, 6000 do
  grown = grown .. i .. ";"
end
print("append", #grown, checksum(grown))

-- Coroutines, each with a stack of its own.
local total = 0
for i = 1, 40000 do
  local co = coroutine.wrap(function(a)
    local frame = { a, a * 2 }
    local b = coroutine.yield(frame[2])
    return b + #frame
  end)
  total = total + co(i) + co(i)
end
print("coroutines", total)

-- A tree built by recursion and given to the collector.
local function tree(depth)
  if depth == 0 then
    return { rnd(100) }
  end
  return { tree(depth - 1), tree(depth - 1) }
end
local function sum(node)
  return node[2] and sum(node[1]) + sum(node[2]) or node[1]
end
print("tree", sum(tree(18)))
collectgarbage()
