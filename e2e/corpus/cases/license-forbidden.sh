# kind: gate
# category: gate
# decisive: GNU Affero General Public License
mkdir -p vendor/slug vendor/table
printf '// Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions: The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.\n' >vendor/slug/slug.js
cp vendor/slug/slug.js vendor/table/table.js
good || printf '// This program is free software: you can redistribute it and/or modify it under the terms of the GNU Affero General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.\n' >vendor/table/table.js
licensecheck --recursive vendor | tee licenses
! grep 'GNU' licenses
